import { HOUR_MS } from '../../infra/durations.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { storedId } from '../../infra/testing/ids.ts';
import {
  beginMessage,
  type Event,
  encodeEvent,
  endMessage,
  laneOf,
  NO_SOURCE,
  REVENUE,
  routingKeyOf,
  SCREEN_VIEW,
  SESSION_GAP_MS,
} from '../../ingest/event.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import type { World } from './world.ts';

export const SITES = ['demo', 'shop'] as const;
const DEVICES = ['a', 'b', 'c', 'd'] as const;
const PUBLISH_TIMEOUT_MS = 2_000;
const PUBLISHER_BASE = 1_000n;
/** A session that was answered is still retained when its event arrives. */
const ANSWERED_MAX_MS = 600_000;

/** An event id is remembered for longer. */
const AGAIN_MAX_MS = 20 * HOUR_MS;
/** Maximum time that a message may be on its way after its collector died. */
const LATE_MAX_MS = 12_000;

/**
 * Time between two arrivals: mostly short, at times longer than a session is retained, and a day. While messages are on their way
 * it is short, so that the sessions that they were answered are still retained when they arrive.
 */
function stepMs({ time: { random } }: World, isQuiet: boolean): number {
  if (!isQuiet || random.chance(0.75)) return random.below(20_000);
  if (random.chance(0.85)) return random.below(3 * SESSION_GAP_MS);
  return random.below(90_000_000);
}

/** Collectors that send events to the lanes, each until it is acknowledged or dies. */
export class Collectors {
  readonly #world: World;
  readonly #events: Event[] = [];
  /** The clock of the data, which goes far ahead of the schedule's clock. */
  #dataMs = START_MS;
  #publishers = 0;
  #left: number;
  #onTheirWay = 0;

  constructor(world: World, messages: number) {
    this.#world = world;
    this.#left = messages;
  }

  /** Resolves when all messages are sent. */
  async send(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#collect()));
  }

  async #collect(): Promise<void> {
    const { time, network, lanes } = this.#world;
    let publisherId = this.#newPublisher();
    const numbers = new Map<number, number>();
    while (this.#left > 0) {
      this.#left -= 1;
      await time.wait(time.random.waitMs(220));
      const lane = time.random.below(lanes);
      const number = (numbers.get(lane) ?? 0) + 1;
      numbers.set(lane, number);
      if (await this.#publish(lane, publisherId, number)) continue;
      network.count('collectors that died');
      publisherId = this.#newPublisher();
      numbers.clear();
    }
  }

  #newPublisher(): bigint {
    this.#publishers += 1;
    return PUBLISHER_BASE + BigInt(this.#publishers);
  }

  /** Sends a message until it is acknowledged; false when the collector dies meanwhile. */
  async #publish(lane: number, publisherId: bigint, number: number): Promise<boolean> {
    const { bus, time } = this.#world;
    const bytes = this.#message(lane, publisherId, number);
    for (;;) {
      try {
        const sequence = await bus.publish(this.#world.streamOf(lane), bytes, PUBLISH_TIMEOUT_MS);
        this.#world.acknowledge(lane, sequence);
        this.#onTheirWay -= 1;
        return true;
      } catch {
        if (time.random.chance(0.05)) {
          time.plan(LATE_MAX_MS, undefined, 'nothing of a dead collector is on its way', () => {
            this.#onTheirWay -= 1;
          });
          return false;
        }
        await time.wait(time.random.below(200));
      }
    }
  }

  #message(lane: number, publisherId: bigint, number: number): Uint8Array {
    const { random } = this.#world.time;
    this.#dataMs += stepMs(this.#world, this.#onTheirWay === 0);
    this.#onTheirWay += 1;
    const isTick = random.chance(0.06);
    const events = isTick ? [] : Array.from({ length: random.integer(1, 3) }, () => this.#event(lane));
    const writer = new RowBinaryWriter(1_048_576);
    beginMessage(writer, { publisherId, publisherSequence: number, sentAtMs: this.#dataMs });
    for (const event of events) encodeEvent(writer, event);
    endMessage(writer, events.length);
    const bytes = writer.take();
    const arrivals = isTick ? [{ tickAtMs: this.#dataMs }] : events;
    this.#world.meanings.set(bytes, { publisher: publisherId.toString(), number, arrivals });
    return bytes;
  }

  #event(lane: number): Event {
    const { random } = this.#world.time;
    // A repeat is not a new event: its sender has no newer answer.
    const again = random.chance(0.06) ? this.#again(lane) : undefined;
    if (again !== undefined) return again;
    const event = (random.chance(0.08) ? this.#payment(lane) : undefined) ?? this.#visit(lane);
    this.#events.push(event);
    return event;
  }

  #visit(lane: number): Event {
    const { random } = this.#world.time;
    const number = this.#events.length + 1;
    const [projectId, deviceId] = this.#deviceOf(lane);
    const sessionId = number.toString(16).padStart(32, '0');
    const earlier = this.#events.findLast(
      (event) =>
        event.projectId === projectId &&
        event.deviceId === deviceId &&
        event.sessionId !== '' &&
        !event.credit,
    );
    const backMs = random.chance(0.2) ? random.below(2 * SESSION_GAP_MS) : random.below(5_000);
    const occurredAtMs = this.#dataMs - backMs;
    const isNear =
      earlier !== undefined &&
      this.#dataMs - earlier.receivedAtMs < ANSWERED_MAX_MS &&
      Math.abs(earlier.occurredAtMs - occurredAtMs) <= SESSION_GAP_MS;
    const isSale = random.chance(0.1);
    return plainEvent({
      projectId: storedId(projectId),
      deviceId,
      name: isSale ? REVENUE : random.chance(0.6) ? SCREEN_VIEW : 'click',
      eventId: random.chance(0.5) ? `event-${number}` : '',
      profileId: random.chance(0.1) ? `p${random.below(3)}` : '',
      occurredAtMs,
      receivedAtMs: this.#dataMs,
      sessionId: isNear && random.chance(0.7) ? earlier.sessionId : sessionId,
      path: `/e${number}`,
      source: NO_SOURCE,
      ...(isSale ? { revenue: BigInt(random.below(1_000)), currency: 'EUR' } : {}),
    });
  }

  /** An event that was sent before, under its id. */
  #again(lane: number): Event | undefined {
    const { random } = this.#world.time;
    const known = this.#events.filter(
      (event) =>
        event.eventId !== '' && this.#isOf(lane, event) && this.#dataMs - event.receivedAtMs < AGAIN_MAX_MS,
    );
    const event = known[random.below(Math.max(1, known.length))];
    if (event === undefined) return undefined;
    this.#world.network.count('events that were sent twice');
    return { ...event, receivedAtMs: this.#dataMs };
  }

  /** A payment for a session that has ended, as far as the stream says by now. */
  #payment(lane: number): Event | undefined {
    const { random } = this.#world.time;
    const arrivals = this.#world.arrivalsOf(lane);
    const { sessions } = arrivals.upTo(arrivals.acknowledged);
    const session = sessions[random.below(Math.max(1, sessions.length))];
    if (session === undefined) return undefined;
    this.#world.network.count('payments for known sessions');
    return plainEvent({
      projectId: storedId(session.projectId),
      deviceId: session.deviceId,
      name: REVENUE,
      occurredAtMs: this.#dataMs,
      receivedAtMs: this.#dataMs,
      sessionId: session.id,
      credit: true,
      revenue: BigInt(random.below(1_000)),
      currency: 'EUR',
      path: `/e${this.#events.length + 1}`,
    });
  }

  #deviceOf(lane: number): readonly [string, string] {
    const { random } = this.#world.time;
    for (;;) {
      const projectId = random.one(SITES);
      const deviceId = random.one(DEVICES).repeat(32);
      if (this.#isOf(lane, { projectId: storedId(projectId), deviceId, eventId: '', profileId: '' }))
        return [projectId, deviceId];
    }
  }

  #isOf(lane: number, event: Pick<Event, 'projectId' | 'deviceId' | 'eventId' | 'profileId'>): boolean {
    return (
      laneOf(event.projectId, routingKeyOf(event), { lanes: this.#world.lanes, storeShards: 1 }) === lane
    );
  }
}
