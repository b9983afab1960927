import { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import { decodeJsonContract } from '../bus/json-contract.ts';

/** The subject of processors' reports that they run, and of the lanes that they own; see `processor/shares/presence.ts`. */
export const PROCESSORS_SUBJECT = 'processors';
const VERSION = 1;
const KIND = 'fails';
/** A failing lane is said to fail every second; after this much silence it counts as recovered. */
const SILENT_MAX_MS = 5_000;

const schema = z.strictObject({
  version: z.literal(VERSION),
  kind: z.literal(KIND),
  lane: z.int().min(0),
});

/** Says that a lane is restarted again and again, or that its entities are. */
export function encodeFailingLane(lane: number): Uint8Array {
  return Buffer.from(JSON.stringify({ version: VERSION, kind: KIND, lane }));
}

/** The lanes of the service that fail, as their processors say. */
export class FailingLanes {
  readonly #elapsedMs: () => number;
  readonly #heardMs = new Map<number, number>();
  readonly #stopListening: () => void;

  /** @param elapsedMs milliseconds from any beginning; a clock that is set does not change it */
  constructor(bus: Pick<Bus, 'listen'>, elapsedMs: () => number = () => performance.now()) {
    this.#elapsedMs = elapsedMs;
    this.#stopListening = bus.listen(PROCESSORS_SUBJECT, (bytes) => this.#hear(bytes));
  }

  /** Their numbers, in order. */
  get lanes(): readonly number[] {
    const sinceMs = this.#elapsedMs() - SILENT_MAX_MS;
    for (const [lane, heardMs] of this.#heardMs) if (heardMs < sinceMs) this.#heardMs.delete(lane);
    return [...this.#heardMs.keys()].sort((a, b) => a - b);
  }

  stop(): void {
    this.#stopListening();
  }

  #hear(bytes: Uint8Array): void {
    try {
      const contract = { name: 'failing lane', versions: [VERSION], schema };
      this.#heardMs.set(decodeJsonContract(bytes, contract).lane, this.#elapsedMs());
    } catch {
      // Other messages of processors on this subject.
    }
  }
}
