import { sipHash48 } from '../../infra/hash/sip-hash.ts';
import type { SessionStates } from './session-columns.ts';
import type { TextCodes } from './site-texts.ts';

const HASHES_MIN = 1024;
/** A hash is made on first use. */
const UNKNOWN = -1;

/** Hashes of visitors and sessions, equal to those in rollups, so that rows and finalized hours can be compared. */
export class SiteHashes {
  readonly #visitors: Hashes;
  readonly #sessions: Hashes;

  constructor(visitors: TextCodes, sessions: SessionStates) {
    this.#visitors = new Hashes((code) => Buffer.from(visitors.textOf(code), 'utf8'));
    this.#sessions = new Hashes((slot) => Buffer.from(sessions.ids[slot] ?? '', 'latin1'));
  }

  /** The hash of a visitor by its number. */
  ofVisitor(code: number): number {
    return this.#visitors.of(code);
  }

  /** The hash of a session by its slot. */
  ofSession(slot: number): number {
    return this.#sessions.of(slot);
  }
}

/** Hashes by number. */
class Hashes {
  readonly #bytesOf: (place: number) => Uint8Array;
  #hashes = new Float64Array(HASHES_MIN).fill(UNKNOWN);

  constructor(bytesOf: (place: number) => Uint8Array) {
    this.#bytesOf = bytesOf;
  }

  of(place: number): number {
    const known = this.#hashes[place] ?? UNKNOWN;
    if (known !== UNKNOWN) return known;
    if (place >= this.#hashes.length) {
      const grown = new Float64Array(Math.max(place + 1, this.#hashes.length * 2)).fill(UNKNOWN);
      grown.set(this.#hashes);
      this.#hashes = grown;
    }
    const hash = sipHash48(this.#bytesOf(place));
    this.#hashes[place] = hash;
    return hash;
  }
}
