import { z } from 'zod';
import type { BucketOptions, Bus } from '../bus/bus.ts';
import { BusError } from '../bus/bus-error.ts';
import { decodeJsonContract } from '../bus/json-contract.ts';
import { ConfigError } from '../config.ts';

/** The KV bucket that has one record for each lane, and one that says how many lanes there are. */
export const LANES_BUCKET = 'lanes';
/** The records name no person and no secret, and are written several times a second. */
export const LANES_BUCKET_OPTIONS: BucketOptions = { storage: 'file', erases: false };

/** The key of the record that says how many lanes there are. */
const LAYOUT_KEY = 'layout';
const LAYOUT_VERSION = 1;
/** The record of the first lane. A bus that has it and no layout is of a release that had one lane. */
const FIRST_LANE_KEY = 'lane-0';

const layout = z.strictObject({ version: z.literal(LAYOUT_VERSION), lanes: z.int().min(1) });

/**
 * How many lanes the service on this bus has. The first process of a new bus decides it, and all others take what it wrote: two
 * processes that count differently would send a device's events to two lanes, or to one that nobody reads.
 * @param configured the setting `LANES`; 0: what the bus has, and 1 on a new one
 * @throws {ConfigError} the bus has another number than the one that is configured
 */
export async function agreeOnLanes(bus: Bus, configured: number): Promise<number> {
  const records = await bus.keyed(LANES_BUCKET, LANES_BUCKET_OPTIONS);
  for (;;) {
    const stored = await records.get(LAYOUT_KEY);
    if (stored?.bytes !== undefined) return compared(decodeLayout(stored.bytes), configured);
    const isOlder = (await records.get(FIRST_LANE_KEY))?.bytes !== undefined;
    const lanes = isOlder ? compared(1, configured) : Math.max(1, configured);
    const bytes = Buffer.from(JSON.stringify({ version: LAYOUT_VERSION, lanes }));
    try {
      await records.put(LAYOUT_KEY, bytes, stored?.revision ?? 0);
      return lanes;
    } catch (error) {
      // Another process was faster.
      if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
    }
  }
}

function compared(lanes: number, configured: number): number {
  if (configured === 0 || configured === lanes) return lanes;
  throw new ConfigError(
    `LANES: ${configured} here, but the service on this bus has ${lanes}. The number is decided at the first start; leave the setting out, and every process takes the one of the bus.`,
  );
}

function decodeLayout(bytes: Uint8Array): number {
  return decodeJsonContract(bytes, {
    name: 'layout of the lanes',
    versions: [LAYOUT_VERSION],
    schema: layout,
  }).lanes;
}
