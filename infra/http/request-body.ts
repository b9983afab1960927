import type { BodyLoss, BodySender, HeldBody, OpenBodies } from './open-bodies.ts';

/** The limits for reading a body, and its consumer. */
export interface BodyOutcome {
  readonly maxBytes: number;
  /** A body of one packet is passed on without copying it, and without counting it. */
  readonly isHot: boolean;
  /** The owner of the bytes. Called at most once, with the first bytes that are kept. */
  owner(): string;
  /** The whole body. Where it is hot, its memory is valid only during the call. */
  complete(body: Uint8Array): void;
  /** The body is not read any further. */
  lost(loss: BodyLoss): void;
}

/**
 * Reads a body whose sender may be proven meanwhile. Memory grows with the bytes that have arrived: to at most twice as many, for any
 * announced length and any size of packets.
 */
export class RequestBody implements HeldBody {
  readonly #bodies: OpenBodies;
  readonly #outcome: BodyOutcome;
  #buffer: Buffer | undefined;
  #bytes = 0;
  #owner: string | undefined;
  #sender: BodySender | undefined;
  #isWhole = false;
  #isOver = false;

  constructor(bodies: OpenBodies, outcome: BodyOutcome) {
    this.#bodies = bodies;
    this.#outcome = outcome;
  }

  get owner(): string {
    this.#owner ??= this.#outcome.owner();
    return this.#owner;
  }

  /** Takes one packet. */
  add(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#isOver) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#outcome.maxBytes) {
      this.#bodies.lose(this, 'too-large');
      return;
    }
    if (isLast && this.#buffer === undefined && this.#sender !== undefined && this.#outcome.isHot) {
      this.#isOver = true;
      this.#outcome.complete(Buffer.from(chunk));
      return;
    }
    if (!this.#keep(chunk, isLast)) return;
    this.#isWhole = isLast;
    if (isLast && this.#sender !== undefined) this.#complete();
  }

  /** The head has been checked. Only from now on the body can be completed. */
  admit(sender: BodySender): void {
    if (this.#isOver) return;
    this.#sender = sender;
    if (sender === 'proven' && !this.#bodies.prove(this)) return;
    if (this.#isWhole) this.#complete();
  }

  /** The request has its answer, or its peer has gone. */
  release(): void {
    this.#isOver = true;
    this.#buffer = undefined;
    this.#bodies.release(this);
  }

  giveUp(loss: BodyLoss): void {
    this.release();
    this.#outcome.lost(loss);
  }

  #complete(): void {
    const buffer = this.#buffer ?? EMPTY;
    this.#isOver = true;
    this.#buffer = undefined;
    this.#bodies.complete(this);
    this.#outcome.complete(buffer.subarray(0, this.#bytes));
  }

  /** Copies a packet, whose memory is valid only during the call. */
  #keep(chunk: ArrayBuffer, isLast: boolean): boolean {
    const kept = this.#bytes - chunk.byteLength;
    if (this.#buffer === undefined || this.#buffer.length < this.#bytes) {
      const wanted = isLast ? this.#bytes : Math.max(BUFFER_MIN_BYTES, 2 * this.#bytes);
      const size = Math.min(this.#outcome.maxBytes, wanted);
      if (!this.#bodies.hold(this, this.#sender ?? 'stranger', size)) return false;
      const grown = Buffer.allocUnsafeSlow(size);
      this.#buffer?.copy(grown, 0, 0, kept);
      this.#buffer = grown;
    }
    new Uint8Array(this.#buffer.buffer).set(new Uint8Array(chunk), kept);
    return true;
  }
}

const EMPTY = Buffer.alloc(0);
/** The first buffer of a body in several packets. */
const BUFFER_MIN_BYTES = 4_096;
