import { z } from 'zod';
import type { Bus } from '../../infra/bus/bus.ts';
import { decodeJsonContract } from '../../infra/bus/json-contract.ts';
import { encodeFailingLane, PROCESSORS_SUBJECT } from '../../infra/process/failing-lanes.ts';
import type { LaneShare } from './fair-share.ts';

const VERSION = 1;
/** Interval at which a processor says that it runs, besides its messages about changes. */
const TELL_EVERY_MS = 1_000;
/** After this time without a message, a processor counts as gone. */
const SILENT_MAX_MS = 3_500;

const message = z.discriminatedUnion('kind', [
  /** A starting processor asks all others to announce themselves. */
  z.strictObject({ version: z.literal(VERSION), kind: z.literal('asks') }),
  z.strictObject({
    version: z.literal(VERSION),
    kind: z.literal('runs'),
    instance: z.string(),
    owned: z.int().min(0),
  }),
  /** It gives up its lanes and takes no more. */
  z.strictObject({ version: z.literal(VERSION), kind: z.literal('leaves'), instance: z.string() }),
  /** A lane was given up for this processor. */
  z.strictObject({
    version: z.literal(VERSION),
    kind: z.literal('offers'),
    lane: z.int().min(0),
    to: z.string(),
  }),
]);
type Message = z.output<typeof message>;
type Unversioned<Kind> = Kind extends unknown ? Omit<Kind, 'version'> : never;

/** This processor, once it takes part. */
export interface Present {
  /** Number of lanes that it owns. */
  readonly owned: () => number;
  /** The lanes that fail. */
  readonly failing: () => readonly number[];
  /** Called when a lane was given up for it. */
  readonly onOffer: (lane: number) => void;
}

/**
 * The running processors and the number of lanes of each, as they announce them on the bus. Only the fairness of shares depends on it: a
 * lane's owner is decided by the lane's record, so a lost, late or wrong message costs no more than a moment of unevenness.
 */
export class Presence {
  readonly #bus: Bus;
  readonly #instance: string;
  readonly #elapsedMs: () => number;
  readonly #heard = new Map<string, { readonly owned: number; readonly atMs: number }>();
  readonly #stopListening: () => void;
  /** Undefined before this processor takes part, and once it leaves. */
  #present: Present | undefined;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Begins to listen, and asks which processors run.
   * @param elapsedMs monotonic milliseconds from any beginning; clock changes do not affect it
   */
  constructor(bus: Bus, instance: string, elapsedMs: () => number = () => performance.now()) {
    this.#bus = bus;
    this.#instance = instance;
    this.#elapsedMs = elapsedMs;
    this.#stopListening = bus.listen(PROCESSORS_SUBJECT, (bytes) => this.#hear(bytes));
    this.#send({ kind: 'asks' });
  }

  /** Begins to say that this processor runs. */
  begin(present: Present): void {
    this.#present = present;
    this.tell();
    this.#timer = setInterval(() => this.tell(), TELL_EVERY_MS);
  }

  /** The other processors that run and do not intend to stop. */
  others(): readonly LaneShare[] {
    const sinceMs = this.#elapsedMs() - SILENT_MAX_MS;
    for (const [instance, { atMs }] of this.#heard) if (atMs < sinceMs) this.#heard.delete(instance);
    return [...this.#heard].map(([instance, { owned }]) => ({ instance, owned }));
  }

  /** Says how many lanes this processor owns now. */
  tell(): void {
    if (this.#present === undefined) return;
    this.#send({ kind: 'runs', instance: this.#instance, owned: this.#present.owned() });
    for (const lane of this.#present.failing()) this.#broadcast(encodeFailingLane(lane));
  }

  /** Says that a lane was given up for another processor, which then need not find it by itself. */
  offer(lane: number, to: string): void {
    this.#send({ kind: 'offers', lane, to });
  }

  /** Says that this processor stops. */
  leave(): void {
    this.#present = undefined;
    clearInterval(this.#timer);
    this.#send({ kind: 'leaves', instance: this.#instance });
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#stopListening();
  }

  #hear(bytes: Uint8Array): void {
    const heard = messageIn(bytes);
    if (heard === undefined) return;
    if (heard.kind === 'asks') this.tell();
    else if (heard.kind === 'offers') {
      if (heard.to === this.#instance) this.#present?.onOffer(heard.lane);
    } else if (heard.instance !== this.#instance) {
      if (heard.kind === 'leaves') this.#heard.delete(heard.instance);
      else this.#heard.set(heard.instance, { owned: heard.owned, atMs: this.#elapsedMs() });
    }
  }

  #send(told: Unversioned<Message>): void {
    this.#broadcast(Buffer.from(JSON.stringify({ version: VERSION, ...told })));
  }

  #broadcast(bytes: Uint8Array): void {
    try {
      this.#bus.broadcast(PROCESSORS_SUBJECT, bytes);
    } catch {
      // The bus is unavailable; the next message, a second later, will do.
    }
  }
}

function messageIn(bytes: Uint8Array): Message | undefined {
  try {
    return decodeJsonContract(bytes, { name: 'presence', versions: [VERSION], schema: message });
  } catch {
    return undefined; // Not from one of us, or of a later release.
  }
}
