import type { Counter, Metrics } from '../metrics.ts';

/** `proven`: the credentials in the head of a request are proven, before its body is read. */
export const BODY_SENDERS = ['proven', 'stranger'] as const;
export type BodySender = (typeof BODY_SENDERS)[number];

/**
 * Maximum bytes of open bodies in a process. Strangers have a lower limit, and their bytes leave the limit of proven
 * clients untouched. 192 MiB are 48 of the largest batches together; 64 MiB are a thousand of the largest events, and
 * only events in several packets count.
 */
export const OPEN_BODIES_MAX_BYTES: Readonly<Record<BodySender, number>> = {
  proven: 201_326_592,
  stranger: 67_108_864,
};
/** An open body counts as at least this much, which bounds their number. */
export const OPEN_BODY_MIN_BYTES = 16_384;
/** A body must be complete within this time, however regularly its bytes drip in. */
export const BODY_TIME_MAX_MS = 60_000;
const SWEEP_EVERY_MS = 1_000;

/** The reason why a body is not read to its end. */
export const BODY_LOSSES = ['no-room', 'slow', 'too-large'] as const;
export type BodyLoss = (typeof BODY_LOSSES)[number];

/** A body whose first bytes are in memory. */
export interface HeldBody {
  /** The owner of the bytes: a client, or the network of an address. */
  readonly owner: string;
  /** Answers the request, and releases the bytes. */
  giveUp(loss: BodyLoss): void;
}

export interface OpenBodiesOptions {
  readonly metrics?: Metrics;
  readonly maxBytes?: Readonly<Record<BodySender, number>>;
  /** Monotonic milliseconds. */
  readonly nowMs?: () => number;
}

interface Held {
  sender: BodySender;
  bytes: number;
  /** A complete body is being answered, so that its bytes cannot be taken back. */
  isComplete: boolean;
  readonly endsAtMs: number;
}

/**
 * Counts the bytes of all bodies that a process holds, from their first packet until their request is answered. Without
 * room, the owner with the most bytes loses its oldest body: a flood of large bodies pushes out itself, and a small one
 * still gets in.
 */
export class OpenBodies {
  readonly #maxBytes: Readonly<Record<BodySender, number>>;
  readonly #nowMs: () => number;
  readonly #losses: Readonly<Record<BodyLoss, Counter>> | undefined;
  /** In the order of their first packets. */
  readonly #bodies = new Map<HeldBody, Held>();
  readonly #bytes: Record<BodySender, number> = { proven: 0, stranger: 0 };
  /** Bytes of each owner. */
  readonly #owners: Readonly<Record<BodySender, Map<string, number>>> = {
    proven: new Map(),
    stranger: new Map(),
  };
  /** Runs only while a body is open. */
  #timer: NodeJS.Timeout | undefined;

  constructor({
    metrics,
    maxBytes = OPEN_BODIES_MAX_BYTES,
    nowMs = () => performance.now(),
  }: OpenBodiesOptions = {}) {
    this.#maxBytes = maxBytes;
    this.#nowMs = nowMs;
    this.#losses = metrics?.reasons(
      'http_bodies_lost_total',
      'requests refused while their body was read, by reason',
      BODY_LOSSES,
    );
    for (const sender of BODY_SENDERS)
      metrics?.gaugeOf(
        'http_open_body_bytes',
        'bytes of request bodies in memory, by whether the head proved its client',
        { sender },
        () => this.#bytes[sender],
      );
  }

  /** Bytes in memory. */
  bytesOf(sender: BodySender): number {
    return this.#bytes[sender];
  }

  /** Counts that a body takes `bytes` now, before the memory is taken. False: it has no room, and was given up. */
  hold(body: HeldBody, sender: BodySender, bytes: number): boolean {
    const held = this.#bodies.get(body) ?? this.#open(body, sender);
    const counted = Math.max(bytes, OPEN_BODY_MIN_BYTES);
    this.#add(body, held, counted - held.bytes);
    while (this.#bytes[held.sender] > this.#maxBytes[held.sender]) {
      const loser = this.#largestOwnersOldest(held.sender) ?? body;
      this.lose(loser, 'no-room');
      if (loser === body) return false;
    }
    return true;
  }

  /** The sender of an open body has proven itself. */
  prove(body: HeldBody): boolean {
    const held = this.#bodies.get(body);
    if (held === undefined) return true;
    const { bytes } = held;
    this.#add(body, held, -bytes);
    held.sender = 'proven';
    return this.hold(body, 'proven', bytes);
  }

  /** The body is complete: it is answered now, and has its bytes until then. */
  complete(body: HeldBody): void {
    const held = this.#bodies.get(body);
    if (held !== undefined) held.isComplete = true;
  }

  release(body: HeldBody): void {
    const held = this.#bodies.get(body);
    if (held === undefined) return;
    this.#add(body, held, -held.bytes);
    this.#bodies.delete(body);
    if (this.#bodies.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Gives a body up, and counts why. */
  lose(body: HeldBody, loss: BodyLoss): void {
    this.#losses?.[loss].add();
    this.release(body);
    body.giveUp(loss);
  }

  /** Gives up the bodies that take too long. A timer calls it. */
  sweep(): void {
    const nowMs = this.#nowMs();
    for (const [body, { endsAtMs, isComplete }] of this.#bodies) {
      if (endsAtMs > nowMs) return;
      if (!isComplete) this.lose(body, 'slow');
    }
  }

  #open(body: HeldBody, sender: BodySender): Held {
    const held: Held = { sender, bytes: 0, isComplete: false, endsAtMs: this.#nowMs() + BODY_TIME_MAX_MS };
    this.#bodies.set(body, held);
    this.#timer ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
    return held;
  }

  #add({ owner }: HeldBody, held: Held, bytes: number): void {
    held.bytes += bytes;
    this.#bytes[held.sender] += bytes;
    const owners = this.#owners[held.sender];
    const owned = (owners.get(owner) ?? 0) + bytes;
    if (owned === 0) owners.delete(owner);
    else owners.set(owner, owned);
  }

  /** Looks at all open bodies, at most 16,384; only when there is no room, and it makes some. */
  #largestOwnersOldest(sender: BodySender): HeldBody | undefined {
    let oldest: HeldBody | undefined;
    let most = 0;
    for (const [body, held] of this.#bodies) {
      if (held.sender !== sender || held.isComplete) continue;
      const owned = this.#owners[sender].get(body.owner) ?? 0;
      if (owned > most) {
        most = owned;
        oldest = body;
      }
    }
    return oldest;
  }
}
