import type { Accounts } from '../../infra/accounts/accounts.ts';
import type { GuardedVerifier } from '../identity/brute-force.ts';
import { type Caller, type CallerVerdict, type Credentials, callerOf } from '../identity/caller.ts';
import { RequestVisitor, type VisitorClaims, type VisitorDeps } from '../identity/request-visitor.ts';
import { busy, type Reject } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { AcceptedBody, EntityBody, TrackBody } from '../request/track-request.ts';
import type { FoundSession, SessionSeeker } from './sessions.ts';
import type { SiteFilters } from './site-filters.ts';
import type { Tallies } from './tallies.ts';
import type { IdentityOutcome, TrackOutcome } from './track-outcome.ts';
import { TrackedEntity, type TrackedEntityDeps } from './tracked-entity.ts';
import { TrackedEvent, type TrackedEventDeps } from './tracked-event.ts';

const AHEAD_MAX_MS = 60_000;
/** How old an event from a browser may be; with a secret any age is taken. */
const AGE_MAX_MS = 7 * 86_400_000;

/** What the collector needs, together with what the steps behind it need. */
export interface CollectorDeps extends VisitorDeps, TrackedEventDeps, TrackedEntityDeps {
  readonly accounts: Accounts;
  readonly verifier: GuardedVerifier;
  readonly filters: SiteFilters;
  readonly tallies: Tallies;
}

/** A body of a caller who may send, and who is told what became of it. */
export interface Collected<Body extends AcceptedBody = AcceptedBody> {
  readonly caller: Caller;
  readonly facts: RequestFacts;
  readonly body: Body;
  readonly outcome: TrackOutcome;
}

/**
 * Takes bodies in. Bots and what the site does not want are told so; the rest goes its way: events by session to the
 * bus, everything else to the records. With a session that is known here everything happens at once and in order; only
 * the bus is waited for.
 */
export class Collector {
  readonly #deps: CollectorDeps;

  constructor(deps: CollectorDeps) {
    this.#deps = deps;
  }

  caller(credentials: Credentials): CallerVerdict | Promise<CallerVerdict> {
    return callerOf(this.#deps.accounts, this.#deps.verifier, credentials);
  }

  /** Takes one body; a returned promise never rejects but for our own mistakes. */
  take(collected: Collected): Promise<void> | undefined {
    const { body } = collected;
    if (body.kind === 'track') {
      this.trackEvent(collected as Collected<TrackBody>);
      return undefined;
    }
    const request = this.trackEntity(collected as Collected<EntityBody>, true);
    return request === undefined ? undefined : publishChecked(request, collected.outcome);
  }

  /** Takes one event. */
  trackEvent(collected: Collected<TrackBody>): void {
    const { eventPublisher, clock, aliases } = this.#deps;
    const { caller, facts, body, outcome } = collected;
    if (body.revenue !== undefined && !caller.verified && !caller.site.allowUnsafeRevenue) {
      outcome.rejected(UNSAFE_REVENUE);
      return;
    }
    const visitor = new RequestVisitor(this.#deps, caller, facts, body);
    const profileId = aliases.resolve(caller.site.storedId, body.profileId);
    if (this.#isExcluded(collected, visitor, profileId)) return;
    const nowMs = clock.nowMs();
    const reason = eventPublisher.rejectReason();
    if (reason !== undefined) {
      outcome.rejected(busy(reason));
      return;
    }
    const occurredAtMs = occurredAt(body.timestampMs, nowMs);
    const devices = visitor.devices(nowMs);
    if (!caller.verified && occurredAtMs < nowMs - AGE_MAX_MS) outcome.rejected(TOO_OLD);
    else if (devices === undefined) outcome.rejected(busy('no-salt'));
    else {
      const environment = visitor.environment();
      const options = { caller, facts, body, profileId, devices, environment, occurredAtMs, nowMs, outcome };
      new TrackedEvent(this.#deps, options).begin();
    }
  }

  /** Takes an update of a record; undefined when it has been answered. The caller checks and publishes it. */
  trackEntity(collected: Collected<EntityBody>, namesSession: boolean): TrackedEntity | undefined {
    const { entityPublisher, clock, aliases } = this.#deps;
    const { caller, facts, body, outcome } = collected;
    const visitor = new RequestVisitor(this.#deps, caller, facts, body);
    const profileId = 'profileId' in body ? aliases.resolve(caller.site.storedId, body.profileId) : '';
    if (this.#isExcluded(collected, visitor, profileId)) return undefined;
    const nowMs = clock.nowMs();
    const reason = entityPublisher.rejectReason();
    const devices = visitor.devices(nowMs);
    if (reason !== undefined || devices === undefined) {
      outcome.rejected(busy(reason ?? 'no-salt'));
      return undefined;
    }
    return new TrackedEntity(this.#deps, { caller, facts, body, devices, nowMs, namesSession, outcome });
  }

  /** Finds device and session of a visitor without recording anything. */
  findVisitor(caller: Caller, facts: RequestFacts, outcome: IdentityOutcome): Reject | undefined {
    const nowMs = this.#deps.clock.nowMs();
    const devices = new RequestVisitor(this.#deps, caller, facts, NO_CLAIMS).devices(nowMs);
    if (devices === undefined) return busy('no-salt');
    const { deviceId, earlierDeviceId } = devices;
    const found = (session: FoundSession) =>
      outcome.identified(session, earlierDeviceId !== '' && session.deviceId === earlierDeviceId);
    const seeker: SessionSeeker = {
      siteId: caller.site.storedId,
      deviceId,
      earlierDeviceId,
      occurredAtMs: nowMs,
      eventId: '',
      readOnly: true,
      credit: false,
      found,
    };
    const session = this.#deps.sessions.seek(seeker);
    if (session !== undefined) found(session);
    return undefined;
  }

  /** True when the body was answered, since it is a bot's or one that the site does not want. */
  #isExcluded(
    { caller, facts, body, outcome }: Collected,
    visitor: RequestVisitor,
    profileId: string,
  ): boolean {
    const { enrichment, filters, tallies } = this.#deps;
    const { site } = caller;
    const bot = caller.verified ? undefined : enrichment.bot(facts.userAgent, facts.hints);
    if (bot !== undefined) {
      tallies.count(site.storedId, `bot:${bot.type}`, bot.name);
      outcome.excluded(bot);
      return true;
    }
    const isEvent = body.kind === 'track';
    if (!filters.hasFilters(site)) return false;
    const kind = filters.excludedBy(site, {
      address: visitor.address,
      profileId,
      name: isEvent ? body.name : '',
      path: isEvent && site.filters.paths.length > 0 ? enrichment.page(body.path).path : '',
    });
    if (kind === undefined) return false;
    // An address is never written down, not even one that is filtered.
    tallies.count(site.storedId, `filter:${kind}`, kind === 'name' && isEvent ? body.name : '');
    outcome.excluded(undefined);
    return true;
  }
}

/** Checks an update and publishes it, unless the check refuses it. */
async function publishChecked(request: TrackedEntity, outcome: TrackOutcome): Promise<void> {
  const reject = await request.check();
  if (reject === undefined) await request.publish();
  else outcome.rejected(reject);
}

const NO_CLAIMS: VisitorClaims = { deviceId: '', address: '' };
const TOO_OLD: Reject = {
  reason: 'too-old',
  status: 400,
  message: 'payload.properties.__timestamp: older than 7 days, which only a caller with a secret may send',
};
const UNSAFE_REVENUE: Reject = {
  reason: 'unsafe-revenue',
  status: 401,
  message: 'service-client-secret: missing; the site does not allow revenue from a browser',
};

/** The clock of a visitor may be wrong; a time that is still to come is not believed. */
function occurredAt(timestampMs: number | undefined, nowMs: number): number {
  return timestampMs === undefined || timestampMs > nowMs + AHEAD_MAX_MS ? nowMs : timestampMs;
}
