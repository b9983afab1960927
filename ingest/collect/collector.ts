import type { SharedRateLimiter } from '../../infra/accounts/shared-rate-limiter.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { limitHeaders } from '../../infra/http/limit-headers.ts';
import type { ProfileId } from '../event.ts';
import { authorityOf } from '../identity/authority.ts';
import {
  type Caller,
  type CallerCredentials,
  type CallerDeps,
  type CallerVerdict,
  type HeadVerdict,
  hashNamesOn,
  identifyByHead,
  identifyCaller,
} from '../identity/caller.ts';
import { NO_VISITOR_CLAIMS, RequestVisitor, type VisitorDeps } from '../identity/request-visitor.ts';
import { busy, type Reject } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { AcceptedBody, EntityBody, ReplayBody, TrackBody } from '../request/track-request.ts';
import type { FoundSession, SessionRequest } from './sessions.ts';
import type { SiteFilters } from './site-filters.ts';
import type { Tallies } from './tallies.ts';
import type { IdentityOutcome, TrackOutcome } from './track-outcome.ts';
import { TrackedEntity, type TrackedEntityDeps } from './tracked-entity.ts';
import { TrackedEvent, type TrackedEventDeps } from './tracked-event.ts';

const AHEAD_MAX_MS = 60_000;
/** The oldest event that a browser may send. With a secret, any age is accepted. */
const AGE_MAX_MS = 7 * DAY_MS;
/** A site's rate is an average over this time, as the limits of the other endpoints are. */
export const RATE_WINDOW_MS = 10_000;

/** Dependencies of the collector and of the steps behind it. */
export interface CollectorDeps extends CallerDeps, VisitorDeps, TrackedEventDeps, TrackedEntityDeps {
  readonly filters: SiteFilters;
  readonly tallies: Tallies;
  /** Limits the events of each site that has a rate, over windows of `RATE_WINDOW_MS`. */
  readonly eventRates: SharedRateLimiter;
}

/** The body of an authorized caller, and the receiver of its outcome. */
export interface CollectedBody<Body extends AcceptedBody = AcceptedBody> {
  readonly caller: Caller;
  readonly facts: RequestFacts;
  readonly body: Body;
  readonly outcome: TrackOutcome;
}

/**
 * Decides what happens to each body. Bots and matches of the site's filters are excluded; events go to the bus by way of their session, all
 * other bodies to the entities they update. When the session is known on this node, only the bus is waited for, and bodies keep their
 * order.
 */
export class Collector {
  readonly #deps: CollectorDeps;

  constructor(deps: CollectorDeps) {
    this.#deps = deps;
  }

  caller(credentials: CallerCredentials): CallerVerdict {
    return identifyCaller(this.#deps, credentials);
  }

  /** The same by the head of a request only, see `identifyByHead`. */
  callerByHead(facts: RequestFacts, mayAddSecret: boolean): HeadVerdict {
    return identifyByHead(this.#deps, facts, mayAddSecret);
  }

  /** Sends messages that have waited for long to the bus; see `Publisher.publishDue`. */
  publishDue(): void {
    this.#deps.eventPublisher.publishDue();
    this.#deps.entityPublisher.publishDue();
  }

  /** True if the backlog for the bus is so large that a large request should wait for `room` before it adds more. */
  get isCrowded(): boolean {
    return this.#deps.eventPublisher.room.isCrowded || this.#deps.entityPublisher.room.isCrowded;
  }

  /** Resolves with true once there may be room for more of a large request, and with false when the bus has taken nothing for a second. */
  async room(): Promise<boolean> {
    const { eventPublisher, entityPublisher } = this.#deps;
    return (await eventPublisher.room.wait()) && (await entityPublisher.room.wait());
  }

  /** Takes the only body of a request. A returned promise rejects only for a bug of ours. */
  take(collected: CollectedBody): Promise<void> | undefined {
    const { body } = collected;
    const { eventPublisher, entityPublisher } = this.#deps;
    (body.kind === 'track' ? eventPublisher : entityPublisher).room.noteSmall();
    if (body.kind === 'track' || body.kind === 'replay') {
      if (body.kind === 'track') this.trackEvent(collected as CollectedBody<TrackBody>);
      else this.excludeReplay(collected as CollectedBody<ReplayBody>);
      return undefined;
    }
    const tracked = this.trackEntity(collected as CollectedBody<EntityBody>, true);
    return tracked === undefined ? undefined : publishChecked(tracked);
  }

  /** Takes one event. */
  trackEvent(collected: CollectedBody<TrackBody>): void {
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
    else if (!this.#isOverRate(collected)) {
      const environment = visitor.environment(body);
      const options = { caller, facts, body, profileId, devices, environment, occurredAtMs, nowMs, outcome };
      new TrackedEvent(this.#deps, options).begin();
    }
  }

  /**
   * Accepts an update of an entity; undefined when its outcome is already known. The caller checks and publishes it.
   */
  trackEntity(collected: CollectedBody<EntityBody>, namesSession: boolean): TrackedEntity | undefined {
    const { entityPublisher, clock, aliases } = this.#deps;
    const { caller, facts, body, outcome } = collected;
    if (body.kind === 'alias' && !caller.verified && !caller.site.allowUnsafeAliases) {
      outcome.rejected(UNSAFE_ALIAS);
      return undefined;
    }
    const visitor = new RequestVisitor(this.#deps, caller, facts, body);
    const profileId = 'profileId' in body ? aliases.resolve(caller.site.storedId, body.profileId) : '';
    if (this.#isExcluded(collected, visitor, profileId)) return undefined;
    const nowMs = clock.nowMs();
    const reason = entityPublisher.rejectReason();
    const devices = visitor.devices(nowMs);
    const authority = devices === undefined ? undefined : authorityOf(caller, visitor, devices, nowMs);
    if (reason !== undefined || devices === undefined || authority === undefined) {
      outcome.rejected(busy(reason ?? 'no-salt'));
      return undefined;
    }
    if (this.#isOverRate(collected)) return undefined;
    const options = { caller, facts, body, devices, authority, nowMs, namesSession, outcome };
    return new TrackedEntity(this.#deps, options);
  }

  /** Answers a part of a recorded session: it is counted and not stored. */
  excludeReplay(collected: CollectedBody<ReplayBody>): void {
    const { caller, facts, body, outcome } = collected;
    if (this.#isExcluded(collected, new RequestVisitor(this.#deps, caller, facts, body), '')) return;
    this.#deps.tallies.count(caller.site.storedId, 'replay:not-recorded', '');
    outcome.excluded({ kind: 'replay' });
  }

  /** Finds a visitor's device and session without recording anything. */
  findVisitor(caller: Caller, facts: RequestFacts, outcome: IdentityOutcome): Reject | undefined {
    const nowMs = this.#deps.clock.nowMs();
    const devices = new RequestVisitor(this.#deps, caller, facts, NO_VISITOR_CLAIMS).devices(nowMs);
    if (devices === undefined) return busy('no-salt');
    const { deviceId, earlierDeviceId } = devices;
    const found = (session: FoundSession) =>
      outcome.identified(session, earlierDeviceId !== '' && session.deviceId === earlierDeviceId);
    const request: SessionRequest = {
      siteId: caller.site.storedId,
      deviceId,
      earlierDeviceId,
      occurredAtMs: nowMs,
      eventId: '',
      readOnly: true,
      credit: false,
      isDelayed: false,
      found,
    };
    const session = this.#deps.sessions.find(request);
    if (session !== undefined) found(session);
    return undefined;
  }

  /** Counts a body that would be recorded against its site's rate. True: it is over the rate and was answered with 429. */
  #isOverRate({ caller: { site }, outcome }: CollectedBody): boolean {
    const { eventsPerSecondMax } = site;
    if (eventsPerSecondMax === null) return false;
    const { eventRates, tallies } = this.#deps;
    const allowance = eventRates.take(site.storedId, (eventsPerSecondMax * RATE_WINDOW_MS) / 1000);
    if (allowance === undefined) return false;
    outcome.noteRate(allowance);
    if (allowance.allowed) return false;
    tallies.count(site.storedId, 'rate:eventsPerSecondMax', '');
    outcome.rejected({
      reason: 'site-rate',
      status: 429,
      message: `the site may send ${eventsPerSecondMax} events a second, on average over ten; retry after the time in Retry-After`,
      headers: limitHeaders(allowance),
    });
    return true;
  }

  /** True when the body was answered because it comes from a bot or a filter of the site matches it. */
  #isExcluded(
    { caller, facts, body, outcome }: CollectedBody,
    visitor: RequestVisitor,
    profileId: ProfileId,
  ): boolean {
    const { enrichment, filters, tallies } = this.#deps;
    const { site } = caller;
    const bot = caller.verified ? undefined : enrichment.bot(facts.userAgent, facts.hints);
    if (bot !== undefined) {
      tallies.count(site.storedId, `bot:${bot.type}`, bot.name);
      outcome.excluded({ kind: 'bot', bot });
      return true;
    }
    const isEvent = body.kind === 'track';
    if (isEvent && site.filterReferrerSpam) {
      const page = enrichment.page(body.path, hashNamesOn(site));
      const domain = enrichment.spamDomain(body.referrer, page, facts.origin);
      if (domain !== undefined) {
        tallies.count(site.storedId, 'spam:referrer', domain);
        outcome.excluded({ kind: 'spam', domain });
        return true;
      }
    }
    if (!filters.hasFilters(site)) return false;
    const kind = filters.excludedBy(site, {
      address: visitor.address,
      profileId,
      name: isEvent ? body.name : '',
      path:
        isEvent && site.filters.paths.length > 0 ? enrichment.page(body.path, hashNamesOn(site)).path : '',
    });
    if (kind === undefined) return false;
    // An address is never stored, not even one that a filter matched.
    tallies.count(site.storedId, `filter:${kind}`, kind === 'name' && isEvent ? body.name : '');
    outcome.excluded({ kind: 'filter' });
    return true;
  }
}

/** Checks an update and publishes it when the check passes. */
async function publishChecked(tracked: TrackedEntity): Promise<void> {
  if (await tracked.check()) await tracked.publish();
}

const TOO_OLD: Reject = {
  reason: 'too-old',
  status: 400,
  message: 'payload.properties.__timestamp: older than 7 days; an older event needs a client secret',
};
const UNSAFE_REVENUE: Reject = {
  reason: 'unsafe-revenue',
  status: 401,
  message: 'service-client-secret: missing; the site accepts revenue only with a client secret',
};

const UNSAFE_ALIAS: Reject = {
  reason: 'unsafe-alias',
  status: 401,
  message:
    'service-client-secret: missing; the site accepts aliases only with a client secret, unless its setting allowUnsafeAliases is on',
};

/** A time more than a minute ahead comes from a wrong clock and is replaced by now. */
function occurredAt(timestampMs: number | undefined, nowMs: number): number {
  return timestampMs === undefined || timestampMs > nowMs + AHEAD_MAX_MS ? nowMs : timestampMs;
}
