import {
  type Caller,
  type CallerCredentials,
  type CallerVerdict,
  identifyCaller,
} from '../identity/caller.ts';
import { RequestVisitor, type VisitorClaims } from '../identity/request-visitor.ts';
import { busy, type Reject } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { AcceptedBody, EntityBody, TrackBody } from '../request/track-request.ts';
import type { CollectorDeps } from './collector-deps.ts';
import type { FoundSession, SessionSeeker } from './sessions.ts';
import type { IdentityOutcome, TrackOutcome } from './track-outcome.ts';
import { TrackedEntity } from './tracked-entity.ts';
import { TrackedEvent } from './tracked-event.ts';

const AHEAD_MAX_MS = 60_000;
/** How old an event from a browser may be; with a secret any age is taken. */
const AGE_MAX_MS = 7 * 86_400_000;

/** A body of a caller who may send, and who is told what became of it. */
export interface Collected<Body extends AcceptedBody = AcceptedBody> {
  readonly caller: Caller;
  readonly facts: RequestFacts;
  readonly body: Body;
  readonly receipt: TrackOutcome;
}

/**
 * Takes bodies in. Bots and what the site does not want are told so; the rest goes its way: events by session to the
 * bus, everything else to the records. With a session that is known here everything happens at once and in order; only
 * the bus is waited for.
 */
export class Collector {
  readonly parts: CollectorDeps;

  constructor(parts: CollectorDeps) {
    this.parts = parts;
  }

  caller(credentials: CallerCredentials): CallerVerdict | Promise<CallerVerdict> {
    return identifyCaller(this.parts.accounts, this.parts.secretGuard, credentials);
  }

  /** Takes one body; a returned promise never rejects but for our own mistakes. */
  take(collected: Collected): Promise<void> | undefined {
    const { body } = collected;
    if (body.kind === 'track') {
      this.track(collected as Collected<TrackBody>);
      return undefined;
    }
    const request = this.record(collected as Collected<EntityBody>, true);
    return request === undefined ? undefined : publishChecked(request, collected.receipt);
  }

  /** Takes one event. */
  track(collected: Collected<TrackBody>): void {
    const { publisher, clock, aliases } = this.parts;
    const { caller, facts, body, receipt } = collected;
    if (body.revenue !== undefined && !caller.verified && !caller.site.allowUnsafeRevenue) {
      receipt.rejected(UNSAFE_REVENUE);
      return;
    }
    const visitor = new RequestVisitor(this.parts, caller, facts, body);
    const profileId = aliases.resolve(caller.site.storedId, body.profileId);
    if (this.#excludes(collected, visitor, profileId)) return;
    const nowMs = clock.nowMs();
    const reject = publisher.reject();
    if (reject !== undefined) {
      receipt.rejected(busy(reject));
      return;
    }
    const occurredAtMs = occurredAt(body.timestampMs, nowMs);
    const devices = visitor.devices(nowMs);
    if (!caller.verified && occurredAtMs < nowMs - AGE_MAX_MS) receipt.rejected(TOO_OLD);
    else if (devices === undefined) receipt.rejected(busy('no-salt'));
    else {
      const setting = visitor.setting();
      const options = { caller, facts, body, profileId, devices, setting, occurredAtMs, nowMs, receipt };
      new TrackedEvent(this.parts, options).begin();
    }
  }

  /** Takes an update of a record; undefined when it has been answered. The caller checks and publishes it. */
  record(collected: Collected<EntityBody>, namesSession: boolean): TrackedEntity | undefined {
    const { records, clock, aliases } = this.parts;
    const { caller, facts, body, receipt } = collected;
    const visitor = new RequestVisitor(this.parts, caller, facts, body);
    const profileId = 'profileId' in body ? aliases.resolve(caller.site.storedId, body.profileId) : '';
    if (this.#excludes(collected, visitor, profileId)) return undefined;
    const nowMs = clock.nowMs();
    const reject = records.reject();
    const devices = visitor.devices(nowMs);
    if (reject !== undefined || devices === undefined) {
      receipt.rejected(busy(reject ?? 'no-salt'));
      return undefined;
    }
    return new TrackedEntity(this.parts, { caller, facts, body, devices, nowMs, namesSession, receipt });
  }

  /** Finds device and session of a visitor without recording anything. */
  identify(caller: Caller, facts: RequestFacts, receipt: IdentityOutcome): Reject | undefined {
    const nowMs = this.parts.clock.nowMs();
    const devices = new RequestVisitor(this.parts, caller, facts, NO_CLAIMS).devices(nowMs);
    if (devices === undefined) return busy('no-salt');
    const { deviceId, earlierDeviceId } = devices;
    const found = (session: FoundSession) =>
      receipt.identified(session, earlierDeviceId !== '' && session.deviceId === earlierDeviceId);
    const seeker: SessionSeeker = {
      siteId: caller.site.storedId,
      deviceId,
      earlierDeviceId,
      occurredAtMs: nowMs,
      eventId: '',
      onlyAsks: true,
      credit: false,
      found,
    };
    const session = this.parts.sessions.seek(seeker);
    if (session !== undefined) found(session);
    return undefined;
  }

  /** True when the body was answered, since it is a bot's or one that the site does not want. */
  #excludes(
    { caller, facts, body, receipt }: Collected,
    visitor: RequestVisitor,
    profileId: string,
  ): boolean {
    const { enrichment, filters, tallies } = this.parts;
    const { site } = caller;
    const bot = caller.verified ? undefined : enrichment.bot(facts.userAgent, facts.hints);
    if (bot !== undefined) {
      tallies.count(site.storedId, `bot:${bot.type}`, bot.name);
      receipt.excluded(bot);
      return true;
    }
    const isEvent = body.kind === 'track';
    if (!filters.filters(site)) return false;
    const kind = filters.excluded(site, {
      address: visitor.address,
      profileId,
      name: isEvent ? body.name : '',
      path: isEvent && site.filters.paths.length > 0 ? enrichment.page(body.path).path : '',
    });
    if (kind === undefined) return false;
    // An address is never written down, not even one that is filtered.
    tallies.count(site.storedId, `filter:${kind}`, kind === 'name' && isEvent ? body.name : '');
    receipt.excluded(undefined);
    return true;
  }
}

/** Checks an update and publishes it, unless the check refuses it. */
async function publishChecked(request: TrackedEntity, receipt: TrackOutcome): Promise<void> {
  const rejection = await request.check();
  if (rejection === undefined) await request.publish();
  else receipt.rejected(rejection);
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
