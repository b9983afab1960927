import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { BusError } from '../bus/bus-error.ts';
import { decodeJsonContract } from '../bus/json-contract.ts';
import type { KeyedBytes } from '../bus/keyed-bytes.ts';
import type { LaneName } from './service-lanes.ts';

const VERSION = 1;
const TRY_EVERY_MS = 200;
/** If the bus is unavailable for longer, messages whose fate is unknown fail like all others. */
const AWAY_MAX_MS = 30_000;

const publishers = z.array(z.tuple([z.string(), z.number()]).readonly()).readonly();
const laneEnd = z.strictObject({ version: z.literal(VERSION), events: publishers, records: publishers });

/** The last message of each publisher that a lane took before it ended: of events, and of entity updates. */
export type LaneEnd = Omit<z.output<typeof laneEnd>, 'version'>;

/** The name of a publisher in checkpoints and ends of lanes. */
export function publisherKeyOf(publisherId: bigint): string {
  return publisherId.toString(36);
}

/** Writes where a lane ended, before the layout without it is stored. May be repeated. */
export async function storeLaneEnd(records: KeyedBytes, lane: LaneName, end: LaneEnd): Promise<void> {
  const key = keyOf(lane);
  const bytes = Buffer.from(JSON.stringify({ version: VERSION, ...end }));
  await records.put(key, bytes, (await records.get(key))?.revision ?? 0);
}

/** The ends of the lanes that a service had before it grew. */
export class LaneEnds {
  readonly #records: Pick<KeyedBytes, 'get'>;
  readonly #ends = new Map<LaneName, Promise<LaneEnd | undefined>>();

  /** `records`: the bucket of the layout. */
  constructor(records: Pick<KeyedBytes, 'get'>) {
    this.#records = records;
  }

  /**
   * The number of the last message that the lane took from a publisher; 0 if it took none; undefined if unreadable.
   * Only for a lane that has ended.
   */
  async lastSequenceOf(
    lane: LaneName,
    kind: keyof LaneEnd,
    publisherId: bigint,
  ): Promise<number | undefined> {
    let reading = this.#ends.get(lane);
    if (reading === undefined) {
      reading = this.#read(lane);
      this.#ends.set(lane, reading);
    }
    const end = await reading;
    if (end === undefined) this.#ends.delete(lane);
    const name = publisherKeyOf(publisherId);
    return end && (end[kind].find(([publisher]) => publisher === name)?.[1] ?? 0);
  }

  async #read(lane: LaneName): Promise<LaneEnd | undefined> {
    const endMs = performance.now() + AWAY_MAX_MS;
    for (;;) {
      try {
        const stored = await this.#records.get(keyOf(lane));
        const contract = { name: 'end of a lane', versions: [VERSION], schema: laneEnd };
        return stored?.bytes && decodeJsonContract(stored.bytes, contract);
      } catch (error) {
        const isAway = error instanceof BusError && error.retryable;
        if (!isAway || performance.now() > endMs) return undefined;
      }
      await sleep(TRY_EVERY_MS);
    }
  }
}

function keyOf(lane: LaneName): string {
  return `end.${lane}`;
}
