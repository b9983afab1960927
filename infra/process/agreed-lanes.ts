import { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import { BusError } from '../bus/bus-error.ts';
import { decodeJsonContract } from '../bus/json-contract.ts';
import { ConfigError } from '../config.ts';

/** The KV bucket that says how the service on this bus is laid out, and the key of its one record. */
const LAYOUT_BUCKET = 'layout';
const LANES_KEY = 'lanes';
const VERSION = 1;
/** A bus that has this stream and no layout is of a release that had one lane. */
const FIRST_STREAM = 'lane-0-events';

const layout = z.strictObject({ version: z.literal(VERSION), lanes: z.int().min(1) });

/**
 * How many lanes the service on this bus has. The first process of a new bus decides it, before it makes any stream, and all
 * others take what it wrote: two processes that count differently would send a device's events to two lanes, or to one that
 * has no owner.
 * @param configured the setting `LANES`; 0: what the bus has, and 1 on a new one
 * @throws {ConfigError} the bus has another number than the one that is configured
 */
export async function agreeOnLanes(bus: Bus, configured: number): Promise<number> {
  const records = await bus.keyed(LAYOUT_BUCKET);
  for (;;) {
    const stored = await records.get(LANES_KEY);
    if (stored?.bytes !== undefined) return compared(decodeLanes(stored.bytes), configured);
    const isOlder = await bus.hasStream(FIRST_STREAM);
    const lanes = isOlder ? compared(1, configured) : Math.max(1, configured);
    try {
      const bytes = Buffer.from(JSON.stringify({ version: VERSION, lanes }));
      await records.put(LANES_KEY, bytes, stored?.revision ?? 0);
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

function decodeLanes(bytes: Uint8Array): number {
  return decodeJsonContract(bytes, { name: 'layout', versions: [VERSION], schema: layout }).lanes;
}
