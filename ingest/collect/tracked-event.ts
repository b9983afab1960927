import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Clock } from '../../infra/clock.ts';
import { minorUnitsOf } from '../../infra/money.ts';
import type { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { Enrichment } from '../enrich/enrichment.ts';
import { cut, PAGE_LIMITS } from '../enrich/page.ts';
import { type EntityQuestions, entityKeyOf } from '../entity-lookup.ts';
import type { EntityUpdate, OrderUpdate } from '../entity-update.ts';
import type { DeviceId, ProfileId } from '../event.ts';
import {
  type Environment,
  EVENT_MAX_BYTES,
  type Event,
  encodeEvent,
  laneHashOf,
  routingKeyOf,
  SCREEN_VIEW,
} from '../event.ts';
import { type Caller, hashNamesOn } from '../identity/caller.ts';
import type { Devices } from '../identity/visitor.ts';
import { busy, type PublishReject, type Reject } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { RevenueClaim } from '../request/revenue-claim.ts';
import type { TrackBody } from '../request/track-request.ts';
import type { PublishWaiter } from './lane-queue.ts';
import type { ProfileDevices } from './profile-devices.ts';
import type { Publisher } from './publisher.ts';
import type { AnswerWaiter, RecentAnswers, TrackAnswer } from './recent-answers.ts';
import type { FoundSession, SessionRequest, Sessions } from './sessions.ts';
import type { TrackOutcome } from './track-outcome.ts';

const SDK_TEXT_MAX = 64;

export interface TrackedEventDeps {
  readonly recentAnswers: RecentAnswers;
  readonly sessions: Sessions;
  readonly enrichment: Enrichment;
  readonly eventPublisher: Publisher<Event>;
  readonly entityQuestions: EntityQuestions;
  /** Takes events with an order number, inside an update of the order. */
  readonly entityPublisher: Publisher<EntityUpdate>;
  readonly profileDevices: ProfileDevices;
  readonly clock: Clock;
  readonly lanes: ServiceLanes;
}

/** An accepted event, with everything that is known about it. */
export interface TrackedEventOptions {
  readonly caller: Caller;
  readonly facts: RequestFacts;
  readonly body: TrackBody;
  /** The body's profile, or the profile behind its alias. */
  readonly profileId: ProfileId;
  readonly devices: Devices;
  readonly environment: Environment;
  readonly occurredAtMs: number;
  readonly nowMs: number;
  readonly outcome: TrackOutcome;
}

/**
 * One event from acceptance to its answer. It is its own callback at every step, so that no step allocates a closure.
 */
export class TrackedEvent implements SessionRequest, PublishWaiter, AnswerWaiter {
  readonly #deps: TrackedEventDeps;
  readonly #options: TrackedEventOptions;
  readonly siteId: StoredId;
  readonly deviceId: DeviceId;
  readonly earlierDeviceId: DeviceId;
  readonly occurredAtMs: number;
  readonly eventId: string;
  readonly readOnly = false;
  /** Money is credited to the device's latest session even when that has ended, and opens none; a view opens one. */
  readonly credit: boolean;
  /** An event with an order number is published by its order's entity. */
  readonly isDelayed: boolean;
  #session: FoundSession | undefined;

  constructor(deps: TrackedEventDeps, options: TrackedEventOptions) {
    this.#deps = deps;
    this.#options = options;
    this.siteId = options.caller.site.storedId;
    this.deviceId = options.devices.deviceId;
    this.earlierDeviceId = options.devices.earlierDeviceId;
    this.occurredAtMs = options.occurredAtMs;
    this.eventId = options.body.eventId || options.facts.idempotencyKey;
    this.credit = options.body.revenue !== undefined && options.body.name !== SCREEN_VIEW;
    this.isDelayed = options.body.revenue !== undefined && options.body.revenue.orderId !== '';
  }

  begin(): void {
    if (this.eventId !== '') {
      const known = this.#deps.recentAnswers.begin(this.siteId, this.eventId, this.#options.nowMs, this);
      if (known === 'waits') return;
      if (known !== 'first') {
        this.#options.outcome.stored(known);
        return;
      }
    }
    const session = this.#deps.sessions.find(this);
    if (session !== undefined) this.found(session);
  }

  found(session: FoundSession): void {
    this.#session = session;
    // Recorded before: answer as the first time and publish nothing.
    if (session.kind === 'repeat') {
      this.#end(session);
      return;
    }
    const { lanes, eventPublisher } = this.#deps;
    const event = this.#event(session);
    const hash = laneHashOf(this.siteId, routingKeyOf(event), lanes.layout);
    const { revenue } = this.#options.body;
    if (revenue === undefined || !this.isDelayed) eventPublisher.add(hash, event, this);
    else this.#order(revenue, event, hash % lanes.count);
    const { caller, profileId, nowMs } = this.#options;
    if (caller.verified && profileId !== '')
      this.#deps.profileDevices.note({ projectId: this.siteId, profileId, deviceId: this.deviceId }, nowMs);
  }

  published(reject: PublishReject | undefined): void {
    const session = this.#session;
    if (session === undefined) return;
    if (reject === undefined) {
      const { revenue } = this.#options.body;
      if (revenue === undefined || revenue.orderId === '' || revenue.isRefund) this.#end(session);
      else void this.#endOrder(session, revenue.orderId); // Handles its own failures.
      return;
    }
    this.#deps.sessions.evict(this.siteId, session);
    this.#end(busy(reject));
  }

  /** The event that had this id first has ended. */
  answered(result: TrackAnswer | Reject): void {
    const { outcome } = this.#options;
    if ('reason' in result) outcome.rejected(result);
    else outcome.stored(result);
  }

  #end(result: TrackAnswer | Reject): void {
    this.answered(result);
    if (this.eventId !== '')
      this.#deps.recentAnswers.end(this.siteId, this.eventId, this.#deps.clock.nowMs(), result);
  }

  /**
   * Gives the same answer as the event that counts for the order, which may have come before. While the order's owner is silent, the answer
   * is this event's own.
   */
  async #endOrder(session: FoundSession, orderId: string): Promise<void> {
    const question = { kind: 'order', projectId: this.siteId, id: orderId } as const;
    const answer = await this.#deps.entityQuestions.ask(question);
    const first = answer.kind === 'found' && answer.record.kind === 'order' ? answer.record : session;
    this.#end({ deviceId: first.deviceId, sessionId: first.sessionId });
  }

  /** An order counts once for ever and a refund never exceeds it, so the order's entity decides the worth of the event. */
  #order(revenue: RevenueClaim, event: Event, lane: number): void {
    const { entityPublisher } = this.#deps;
    const { isRefund, orderId } = revenue;
    const writer = new RowBinaryWriter(EVENT_MAX_BYTES);
    encodeEvent(writer, event);
    // A refund without a currency takes its order's, and with it the size of the minor unit.
    const isOpen = isRefund && revenue.currency === '';
    const minorUnits = isOpen ? revenue.minorUnits : amountOf(revenue, event.currency);
    const update: OrderUpdate = {
      kind: 'order',
      projectId: this.siteId,
      id: orderId,
      atMs: this.#options.nowMs,
      updateId: this.eventId,
      isRefund,
      amount: isOpen ? revenue.amount : '',
      minorUnits,
      currency: isOpen ? '' : event.currency,
      partition: lane,
      event: writer.take(),
    };
    const hash = laneHashOf(this.siteId, entityKeyOf('order', orderId), this.#deps.lanes.layout);
    entityPublisher.add(hash, update, this);
  }

  #event({ kind, deviceId, sessionId }: FoundSession): Event {
    const { caller, facts, body, nowMs, profileId, environment } = this.#options;
    const { enrichment } = this.#deps;
    const { revenue } = body;
    const page = enrichment.page(body.path, hashNamesOn(caller.site));
    const currency = revenue === undefined ? '' : revenue.currency || caller.site.currency;
    // An order may wait for its entity until after a session that is open now has ended.
    const credit = sessionId !== '' && (kind === 'ended' || this.isDelayed);
    return {
      projectId: this.siteId,
      deviceId,
      profileId,
      eventId: this.eventId,
      name: body.name,
      occurredAtMs: this.occurredAtMs,
      receivedAtMs: nowMs,
      sessionId,
      credit,
      certain: sessionId !== '' && kind !== 'derived' && !credit,
      // For a refund without an amount, the order's entity fills it in.
      revenue: revenue === undefined ? undefined : BigInt(amountOf(revenue, currency) || '0'),
      currency,
      orderId: revenue?.orderId ?? '',
      origin: page.origin,
      path: page.path,
      query: page.query,
      hash: page.hash,
      title: cut(body.title, PAGE_LIMITS.title),
      source: enrichment.source(body.referrer, page, facts.origin),
      environment,
      groups: body.groups,
      properties: body.properties,
      sdkName: cut(facts.client.sdkName, SDK_TEXT_MAX),
      sdkVersion: cut(facts.client.sdkVersion, SDK_TEXT_MAX),
    };
  }
}

/** Minor units as decimal text; empty when no amount was given. */
function amountOf({ amount, minorUnits }: RevenueClaim, currency: string): string {
  return amount === '' ? minorUnits : minorUnitsOf(amount, currency).toString();
}
