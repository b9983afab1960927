import { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import { BusError } from '../bus/bus-error.ts';
import { DecodeError } from '../bus/decode-error.ts';
import { decodeJsonContract } from '../bus/json-contract.ts';
import type { KeyedBytes, KeyedValue } from '../bus/keyed-bytes.ts';
import { ConfigError } from '../config.ts';
import type { Logger } from '../log.ts';
import { FORMER_DATA } from '../store/former-data.ts';
import { type LaneLayout, ServiceLanes } from './service-lanes.ts';

/** The KV bucket that says how the service on this bus is laid out. It names no person and no secret. */
const LAYOUT_BUCKET = 'layout';
const LANES_KEY = 'lanes';
/** The next version is 4: 0.1.0 wrote records of versions 2 and 3, and one of version 1 with other fields. */
const VERSION = 1;
/** The stream that is made first, after the layout is stored. */
const FIRST_STREAM = 'lane-0-events';

const count = z.int().min(1);
const layout = z.strictObject({
  version: z.literal(VERSION),
  lanes: count,
  storeShards: count,
  isGrown: z.boolean(),
  growingTo: count.optional(),
});
/** A layout of 0.1.0. */
const formerLayout = z.union([
  z.strictObject({ version: z.literal(1), lanes: count }),
  z.object({ version: z.literal([2, 3]) }),
]);

/** The layout in the settings of a process. */
export interface ConfiguredLayout {
  /** The setting `LANES`; 0: the number on the bus, and on a new bus one lane for each shard of the store. */
  readonly lanes: number;
  /** The number of servers in `CLICKHOUSE_URL`; 0 for a process without a store. */
  readonly storeShards: number;
}

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
 * Returns the number of lanes of the service on this bus, and of shards of its store. The first process of a new bus decides both, before
 * it makes any stream, and all others take what it wrote: two processes that count differently would send a device's events to two lanes,
 * or to one that has no owner. A process without a store does not know of shards; while there is no stream, a process with a store decides
 * anew.
 * @param configured a service whose number of lanes has grown since goes by the bus
 * @throws {ConfigError} the bus has other numbers than those that are configured, or was used by 0.1.0
 */
export async function agreeOnLanes(bus: Bus, configured: ConfiguredLayout): Promise<LaneLayout> {
  const records = await openLayouts(bus);
  for (;;) {
    const stored = await records.get(LANES_KEY);
    const layout = stored?.bytes === undefined ? undefined : decodeLayout(stored.bytes);
    const isFinal = layout !== undefined && (layout.storeShards > 1 || configured.storeShards <= 1);
    if (isFinal) return compared(layout, configured);
    const isUsed = await bus.hasStream(FIRST_STREAM);
    if (layout !== undefined && isUsed) return compared(layout, configured);
    if (isUsed) {
      // Another process may have been faster, and then its layout is older than the stream.
      if ((await records.get(LANES_KEY))?.bytes === undefined) throw new ConfigError(FORMER_DATA);
      continue;
    }
    const agreed = compared(firstLayout(configured), configured);
    try {
      await records.put(LANES_KEY, encodeLayout(agreed), stored?.revision ?? 0);
      return agreed;
    } catch (error) {
      // Another process was faster.
      if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
    }
  }
}

/**
 * Like `agreeOnLanes`, and keeps the layout up to date while the process runs. Returns it with the function that ends that. Ends the
 * process when the service proves to have several shards: the process has learned of them before any event was stored, and has begun its
 * work for one shard.
 */
export async function followLanes(
  bus: Bus,
  configured: ConfiguredLayout,
  log: Logger,
): Promise<{ readonly lanes: ServiceLanes; readonly stop: () => void }> {
  const lanes = new ServiceLanes(await agreeOnLanes(bus, configured));
  const records = await openLayouts(bus);
  const take = ({ bytes }: KeyedValue) => {
    if (bytes === undefined) return;
    const stored = decodeLayout(bytes);
    const { storeShards } = stored;
    if (storeShards === lanes.layout.storeShards) return lanes.take(stored);
    log.error(
      { storeShards },
      'a processor has laid out the service for a store of several shards: start again',
    );
    process.exit(1);
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

function firstLayout({ lanes, storeShards }: ConfiguredLayout): LaneLayout {
  const shards = Math.max(1, storeShards);
  if (lanes % shards !== 0)
    throw new ConfigError(
      `LANES: ${lanes} is no multiple of ${shards}, which is how many servers CLICKHOUSE_URL lists: each of them has as many lanes`,
    );
  return { lanes: lanes === 0 ? shards : lanes, storeShards: shards, isGrown: false, growingTo: undefined };
}

function compared(agreed: LaneLayout, { lanes: configured, storeShards }: ConfiguredLayout): LaneLayout {
  const { lanes, isGrown } = agreed;
  if (storeShards !== 0 && storeShards !== agreed.storeShards)
    throw new ConfigError(
      `CLICKHOUSE_URL lists ${storeShards} ${storeShards === 1 ? 'server' : 'servers'}, and the store of the service on this bus has ${agreed.storeShards} ${agreed.storeShards === 1 ? 'shard' : 'shards'}, for good: list one server for each of them, in the order of the first start`,
    );
  if (configured === 0 || configured === lanes || isGrown) return agreed;
  throw new ConfigError(
    `LANES: ${configured} here, but the service on this bus has ${lanes}. The setting counts at the first start alone; leave it out, and every process takes the number of the bus. \`npm run admin -- lane grow ${configured}\` lets a running service grow.`,
  );
}

function encodeLayout({ lanes, storeShards, isGrown, growingTo }: LaneLayout): Uint8Array {
  return Buffer.from(JSON.stringify({ version: VERSION, lanes, storeShards, isGrown, growingTo }));
}

/** @throws {ConfigError} for a layout of 0.1.0 */
function decodeLayout(bytes: Uint8Array): LaneLayout {
  try {
    const decoded = decodeJsonContract(bytes, { name: 'layout', versions: [VERSION], schema: layout });
    const { lanes, storeShards, isGrown, growingTo } = decoded;
    return { lanes, storeShards, isGrown, growingTo };
  } catch (error) {
    if (error instanceof DecodeError && isFormer(bytes)) throw new ConfigError(FORMER_DATA, { cause: error });
    throw error;
  }
}

function isFormer(bytes: Uint8Array): boolean {
  try {
    return formerLayout.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).success;
  } catch {
    return false;
  }
}
