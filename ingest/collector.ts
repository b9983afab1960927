import type { Clock } from '../infra/clock.ts';
import type { Accounts } from './accounts.ts';
import { type Caller, type CallerVerdict, type Credentials, callerOf } from './caller.ts';
import { visitorAddress } from './client-address.ts';
import type { SecretVerifier } from './client-auth.ts';
import type { Enrichment } from './enrichment.ts';
import { type Event, partitionKeyOf, partitionOf } from './event.ts';
import { cut, PAGE_LIMITS } from './page.ts';
import type { Publisher, PublishRefusal, PublishWaiter } from './publisher.ts';
import type { Answer, Follower, RecentAnswers } from './recent-answers.ts';
import { busy, type Rejection } from './rejection.ts';
import type { RequestFacts } from './request-facts.ts';
import type { Salts } from './salt.ts';
import type { FoundSession, SessionSeeker, Sessions } from './sessions.ts';
import type { TrackBody } from './track-request.ts';
import type { DeviceIds } from './visitor.ts';

const AHEAD_MAX_MS = 60_000;
/** How old an event from a browser may be; with a secret any age is taken. */
const AGE_MAX_MS = 7 * 86_400_000;
const SDK_TEXT_MAX = 64;

export interface CollectorParts {
  readonly accounts: Accounts;
  readonly verifier: SecretVerifier;
  readonly salts: Salts;
  readonly deviceIds: DeviceIds;
  readonly sessions: Sessions;
  readonly publisher: Publisher;
  readonly recent: RecentAnswers;
  readonly enrichment: Enrichment;
  readonly clock: Clock;
  readonly partitions: number;
}

/** Who is told what became of an event. One of the two is called, once. */
export interface EventReceipt {
  stored(answer: Answer): void;
  refused(rejection: Rejection): void;
}

/** Who is told which device and session are the visitor's. Called once. */
export interface IdentityReceipt {
  /** `earlier`: the device is the one of yesterday's salt, kept because its session is open. */
  identified(session: FoundSession, earlier: boolean): void;
}

/** The devices that a request may belong to; see `SessionSeeker`. */
interface DeviceCandidates {
  readonly deviceId: string;
  readonly earlierDeviceId: string;
}

/**
 * Takes events in: time, device, session, then the bus. With a session that is known here everything happens at once
 * and in order; only the bus is waited for.
 */
export class Collector {
  readonly parts: CollectorParts;

  constructor(parts: CollectorParts) {
    this.parts = parts;
  }

  caller(credentials: Credentials): CallerVerdict | Promise<CallerVerdict> {
    return callerOf(this.parts.accounts, this.parts.verifier, credentials);
  }

  /** Takes one event of a caller who may send it. */
  track(caller: Caller, facts: RequestFacts, body: TrackBody, receipt: EventReceipt): void {
    const { publisher, clock } = this.parts;
    const nowMs = clock.nowMs();
    const refusal = publisher.refusal();
    if (refusal !== undefined) {
      receipt.refused(busy(refusal));
      return;
    }
    const occurredAtMs = occurredAt(body.timestampMs, nowMs);
    const devices = this.#devices(caller, facts, body, nowMs);
    if (!caller.verified && occurredAtMs < nowMs - AGE_MAX_MS) receipt.refused(TOO_OLD);
    else if (devices === undefined) receipt.refused(busy('no-salt'));
    else new TrackedEvent(this.parts, { caller, facts, body, devices, occurredAtMs, nowMs, receipt }).begin();
  }

  /** Finds device and session of a visitor without recording anything. */
  identify(caller: Caller, facts: RequestFacts, receipt: IdentityReceipt): Rejection | undefined {
    const nowMs = this.parts.clock.nowMs();
    const devices = this.#devices(caller, facts, NO_BODY, nowMs);
    if (devices === undefined) return busy('no-salt');
    const { deviceId, earlierDeviceId } = devices;
    const found = (session: FoundSession) =>
      receipt.identified(session, earlierDeviceId !== '' && session.deviceId === earlierDeviceId);
    const seeker: SessionSeeker = {
      siteId: caller.site.id,
      deviceId,
      earlierDeviceId,
      occurredAtMs: nowMs,
      eventId: '',
      onlyAsks: true,
      found,
    };
    const session = this.parts.sessions.seek(seeker);
    if (session !== undefined) found(session);
    return undefined;
  }

  #devices(
    caller: Caller,
    facts: RequestFacts,
    body: Pick<TrackBody, 'deviceId' | 'address'>,
    nowMs: number,
  ): DeviceCandidates | undefined {
    if (body.deviceId !== '') return { deviceId: body.deviceId, earlierDeviceId: '' };
    if (isServerSide(caller, facts)) return NO_DEVICE;
    const salts = this.parts.salts.at(nowMs);
    if (salts === undefined) return undefined;
    const claimed = claimedAddresses(caller, facts, body.address);
    const address = visitorAddress(facts.claims, claimed);
    const trace = { siteId: caller.site.id, address, userAgent: facts.userAgent };
    const { today, yesterday } = this.parts.deviceIds.of(salts, trace, nowMs);
    return { deviceId: today, earlierDeviceId: yesterday };
  }
}

const NO_BODY = { deviceId: '', address: '' };
const NO_DEVICE: DeviceCandidates = { deviceId: '', earlierDeviceId: '' };
const NOTHING_CLAIMED: readonly string[] = [];
const TOO_OLD: Rejection = {
  reason: 'too-old',
  status: 400,
  message: 'payload.properties.__timestamp: older than 7 days, which only a caller with a secret may send',
};

interface TrackedEventOptions {
  readonly caller: Caller;
  readonly facts: RequestFacts;
  readonly body: TrackBody;
  readonly devices: DeviceCandidates;
  readonly occurredAtMs: number;
  readonly nowMs: number;
  readonly receipt: EventReceipt;
}

/** One event on its way. It is its own callback at every step, so that a step costs no closure. */
class TrackedEvent implements SessionSeeker, PublishWaiter, Follower {
  readonly #parts: CollectorParts;
  readonly #options: TrackedEventOptions;
  readonly siteId: string;
  readonly deviceId: string;
  readonly earlierDeviceId: string;
  readonly occurredAtMs: number;
  readonly eventId: string;
  readonly onlyAsks = false;
  #session: FoundSession | undefined;

  constructor(parts: CollectorParts, options: TrackedEventOptions) {
    this.#parts = parts;
    this.#options = options;
    this.siteId = options.caller.site.id;
    this.deviceId = options.devices.deviceId;
    this.earlierDeviceId = options.devices.earlierDeviceId;
    this.occurredAtMs = options.occurredAtMs;
    this.eventId = options.body.eventId || options.facts.idempotencyKey;
  }

  begin(): void {
    if (this.eventId !== '') {
      const known = this.#parts.recent.begin(this.siteId, this.eventId, this.#options.nowMs, this);
      if (known === 'waits') return;
      if (known !== 'first') {
        this.#options.receipt.stored(known);
        return;
      }
    }
    const session = this.#parts.sessions.seek(this);
    if (session !== undefined) this.found(session);
  }

  found(session: FoundSession): void {
    this.#session = session;
    // Recorded before: the answer is the first one's, and nothing is published.
    if (session.kind === 'repeat') {
      this.#end(session, undefined);
      return;
    }
    const event = this.#event(session);
    const partition = partitionOf(this.siteId, partitionKeyOf(event), this.#parts.partitions);
    this.#parts.publisher.add(partition, event, this);
  }

  published(refusal: PublishRefusal | undefined): void {
    const session = this.#session;
    if (session === undefined) return;
    if (refusal === undefined) {
      this.#end(session, undefined);
      return;
    }
    this.#parts.sessions.forget(this.siteId, session);
    this.#end(undefined, busy(refusal));
  }

  /** The event that had this id first came to its end. */
  answered(answer: Answer | undefined): void {
    const { receipt } = this.#options;
    if (answer === undefined) receipt.refused(busy('bus-away'));
    else receipt.stored(answer);
  }

  #end(answer: Answer | undefined, rejection: Rejection | undefined): void {
    const { receipt } = this.#options;
    if (answer !== undefined) receipt.stored(answer);
    else if (rejection !== undefined) receipt.refused(rejection);
    if (this.eventId !== '')
      this.#parts.recent.end(this.siteId, this.eventId, this.#parts.clock.nowMs(), answer);
  }

  #event({ deviceId, sessionId }: FoundSession): Event {
    const { caller, facts, body, nowMs } = this.#options;
    const { enrichment } = this.#parts;
    const page = enrichment.page(body.path);
    return {
      projectId: this.siteId,
      deviceId,
      profileId: body.profileId,
      eventId: this.eventId,
      name: body.name,
      occurredAtMs: this.occurredAtMs,
      receivedAtMs: nowMs,
      sessionId,
      revenue: undefined,
      currency: '',
      orderId: '',
      origin: page.origin,
      path: page.path,
      query: page.query,
      hash: page.hash,
      title: cut(body.title, PAGE_LIMITS.title),
      source: enrichment.source(body.referrer, page, facts.origin),
      setting: enrichment.setting(isServerSide(caller, facts)),
      groups: body.groups,
      properties: body.properties,
      sdkName: cut(facts.client.sdkName, SDK_TEXT_MAX),
      sdkVersion: cut(facts.client.sdkVersion, SDK_TEXT_MAX),
    };
  }
}

/** A program of the site's own, as opposed to a visitor's browser or one that passes a visitor's request on. */
function isServerSide(caller: Caller, facts: RequestFacts): boolean {
  return caller.verified && !facts.userAgent.includes('Mozilla/');
}

/** The clock of a visitor may be wrong; a time that is still to come is not believed. */
function occurredAt(timestampMs: number | undefined, nowMs: number): number {
  return timestampMs === undefined || timestampMs > nowMs + AHEAD_MAX_MS ? nowMs : timestampMs;
}

/** Addresses that the caller names for the visitor, as far as it may be believed. */
function claimedAddresses(caller: Caller, facts: RequestFacts, named: string): readonly string[] {
  const { clientAddress } = facts.client;
  if (caller.verified) return clientAddress === '' && named === '' ? NOTHING_CLAIMED : [clientAddress, named];
  return clientAddress !== '' && facts.claims.peerTrusted ? [clientAddress] : NOTHING_CLAIMED;
}
