import { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import { BusError } from '../bus/bus-error.ts';
import { decodeJsonContract } from '../bus/json-contract.ts';
import type { KeyedBytes, KeyedValue } from '../bus/keyed-bytes.ts';
import { ConfigError } from '../config.ts';
import type { Logger } from '../log.ts';
import { type LaneLayout, ServiceLanes } from './service-lanes.ts';

/** The KV bucket that says how the service on this bus is laid out. It names no person and no secret. */
const LAYOUT_BUCKET = 'layout';
const LANES_KEY = 'lanes';
/** Version 1 has a number that was decided at the first start and never changed. */
const VERSION = 2;
/** A bus that has this stream and no layout is of a release that had one lane. */
const FIRST_STREAM = 'lane-0-events';

const count = z.int().min(1);
const layout = z.union([
  z.strictObject({ version: z.literal(1), lanes: count }),
  z.strictObject({
    version: z.literal(VERSION),
    lanes: count,
    isGrown: z.boolean(),
    growingTo: count.optional(),
  }),
]);

/** The stored layout, and the revision that a compare-and-set of it must name. */
export interface StoredLayout {
  readonly layout: LaneLayout;
  readonly revision: number;
}

/** Opens the bucket of the layout. */
export function openLayouts(bus: Pick<Bus, 'keyed'>): Promise<KeyedBytes> {
  return bus.keyed(LAYOUT_BUCKET, { storage: 'file', erases: false });
}

/**
 * How many lanes the service on this bus has. The first process of a new bus decides it, before it makes any stream, and all
 * others take what it wrote: two processes that count differently would send a device's events to two lanes, or to one that
 * has no owner.
 * @param configured the setting `LANES`; 0: what the bus has, and 1 on a new one. A service whose number has grown since goes by the bus
 * @throws {ConfigError} the bus has another number than the one that is configured
 */
export async function agreeOnLanes(bus: Bus, configured: number): Promise<LaneLayout> {
  const records = await openLayouts(bus);
  for (;;) {
    const stored = await records.get(LANES_KEY);
    if (stored?.bytes !== undefined) return compared(decodeLayout(stored.bytes), configured);
    const isOlder = await bus.hasStream(FIRST_STREAM);
    const first = { lanes: isOlder ? 1 : Math.max(1, configured), isGrown: false, growingTo: undefined };
    const agreed = compared(first, configured);
    try {
      await records.put(LANES_KEY, encodeLayout(agreed), stored?.revision ?? 0);
      return agreed;
    } catch (error) {
      // Another process was faster.
      if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
    }
  }
}

/** The same, kept up to date while the process runs. Returns it with the function that ends that. */
export async function followLanes(
  bus: Bus,
  configured: number,
  log: Logger,
): Promise<{ readonly lanes: ServiceLanes; readonly stop: () => void }> {
  const lanes = new ServiceLanes(await agreeOnLanes(bus, configured));
  const records = await openLayouts(bus);
  const take = ({ bytes }: KeyedValue) => {
    if (bytes !== undefined) lanes.take(decodeLayout(bytes));
  };
  return { lanes, stop: await records.watch(take, log, LANES_KEY) };
}

/** The layout that is stored now. */
export async function storedLayout(records: KeyedBytes): Promise<StoredLayout | undefined> {
  const stored = await records.get(LANES_KEY);
  if (stored?.bytes === undefined) return undefined;
  return { layout: decodeLayout(stored.bytes), revision: stored.revision };
}

/**
 * Writes a layout in the place of the one with this revision.
 * @throws {BusError} with the reason `conflict` when another process was faster
 */
export async function storeLayout(
  records: KeyedBytes,
  changed: LaneLayout,
  revision: number,
): Promise<number> {
  return records.put(LANES_KEY, encodeLayout(changed), revision);
}

function compared(agreed: LaneLayout, configured: number): LaneLayout {
  const { lanes, isGrown } = agreed;
  if (configured === 0 || configured === lanes || isGrown) return agreed;
  throw new ConfigError(
    `LANES: ${configured} here, but the service on this bus has ${lanes}. The setting counts at the first start alone; leave it out, and every process takes the number of the bus. \`npm run admin -- lanes ${configured}\` lets a running service grow.`,
  );
}

/** A layout that never changed is written as the release before reads it. */
function encodeLayout({ lanes, isGrown, growingTo }: LaneLayout): Uint8Array {
  const isFirst = !isGrown && growingTo === undefined;
  const record = isFirst ? { version: 1, lanes } : { version: VERSION, lanes, isGrown, growingTo };
  return Buffer.from(JSON.stringify(record));
}

function decodeLayout(bytes: Uint8Array): LaneLayout {
  const decoded = decodeJsonContract(bytes, { name: 'layout', versions: [1, VERSION], schema: layout });
  if (decoded.version === 1) return { lanes: decoded.lanes, isGrown: false, growingTo: undefined };
  const { lanes, isGrown, growingTo } = decoded;
  return { lanes, isGrown, growingTo };
}
