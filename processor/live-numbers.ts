import { z } from 'zod';
import { type StoredId, storedIdSchema } from '../infra/accounts/ids.ts';
import { decodeJsonContract } from '../infra/bus/json-contract.ts';
import type { LaneName } from '../infra/process/service-lanes.ts';

/**
 * CONTRACT between a lane's owner and the query nodes: the number of live visitors on watched sites, sent as it
 * changes, so that a node knows without asking.
 *
 * A node asks for a site on `live-watch.<lane>` and gets its number. From then on the owner broadcasts the sites with
 * changed numbers on `live-numbers.<lane>`; after `LIVE_EVERY_MS` without a change, it broadcasts no sites. A node may
 * use its numbers while broadcasts arrive and are numbered consecutively: a silent owner may be gone, and after a gap
 * the changed sites are unknown. JSON, as of version 1.
 */
const VERSION = 1;

/** Maximum time between two broadcasts of an owner, in milliseconds; also the maximum age of a number. */
export const LIVE_EVERY_MS = 100;
/** A site is watched for this long after the last request for it. */
export const WATCHED_FOR_MS = 30_000;
/** Sites that an owner broadcasts at a time; nodes request others one by one. */
export const WATCHED_SITES_MAX = 1_000;
/**
 * A site with more live profiles than this is not broadcast either. With several lanes, each profile id has to be sent, because it may be
 * live on another lane; the only lane of a service sends their number.
 */
export const COUNTED_PROFILES_MAX = { alone: 10_000, ofSeveral: 100 };

/** The live visitors of a site on one lane, as in `LivePart` of `hot.ts`. */
export type LiveNumber = readonly [projectId: StoredId, visitors: number, profiles: readonly number[]];

/** A broadcast, or the answer to a request, which has the number of the broadcast before it. */
export interface LiveNumbers {
  /** Random for each life of an owner. */
  readonly incarnation: number;
  /** Counts the broadcasts of the owner. */
  readonly number: number;
  readonly sites: readonly LiveNumber[];
  /** Sites that the owner no longer broadcasts, or never did. */
  readonly untold: readonly StoredId[];
}

export function liveWatchSubjectOf(lane: LaneName): string {
  return `live-watch.${lane}`;
}

export function liveNumbersSubjectOf(lane: LaneName): string {
  return `live-numbers.${lane}`;
}

export function encodeLiveWatch(projectId: StoredId): Uint8Array {
  return Buffer.from(JSON.stringify({ version: VERSION, projectId }));
}

/**
 * The requested site.
 * @throws {DecodeError}
 */
export function decodeLiveWatch(bytes: Uint8Array): StoredId {
  const contract = { name: 'live watch', versions: [VERSION], schema: watchSchema };
  return decodeJsonContract(bytes, contract).projectId;
}

export function encodeLiveNumbers(numbers: LiveNumbers): Uint8Array {
  return Buffer.from(JSON.stringify({ version: VERSION, ...numbers }));
}

/** The answer of an owner that cannot say. */
export function encodeLiveUnavailable(): Uint8Array {
  return encodeLiveNumbers({ incarnation: 0, number: 0, sites: [], untold: [] });
}

/** @throws {DecodeError} */
export function decodeLiveNumbers(bytes: Uint8Array): LiveNumbers {
  return decodeJsonContract(bytes, { name: 'live numbers', versions: [VERSION], schema: numbersSchema });
}

const watchSchema = z.object({ projectId: storedIdSchema });
const count = z.int().min(0);
const numbersSchema: z.ZodType<LiveNumbers> = z.object({
  incarnation: count,
  number: count,
  sites: z.array(z.tuple([storedIdSchema, count, z.array(z.number())])),
  untold: z.array(storedIdSchema),
});
