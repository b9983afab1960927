import { z } from 'zod';
import { decodeJsonContract } from '../infra/bus/json-contract.ts';
import type { LaneName } from '../infra/process/service-lanes.ts';

/**
 * CONTRACT between a lane's owner and the query nodes: how many visitors are live on the sites that somebody watches, told as
 * it changes, so that a node knows without asking.
 *
 * A node that wants a site asks on `live-watch.<lane>` and gets its number. From then on the owner broadcasts on
 * `live-numbers.<lane>` the sites whose numbers have changed, as they change, and after `LIVE_EVERY_MS` without a change none. A node
 * may use what it was told while the broadcasts come, and their numbers are consecutive: an owner that is silent may be gone, and
 * after a gap it is not known which sites changed. JSON, as of version 1.
 */
const VERSION = 1;

/** At most so many milliseconds lie between two broadcasts of an owner: also how old a number may be. */
export const LIVE_EVERY_MS = 100;
/** A site is watched for this long after the last request for it. */
export const WATCHED_FOR_MS = 30_000;
/** Sites that an owner tells of at a time; others have to be asked for one by one. */
export const WATCHED_SITES_MAX = 1_000;
/**
 * A site with more live profiles than this is not told of either. On one lane of several each profile has to be told, because it may
 * be live on another; a lane that is alone tells how many there are.
 */
export const COUNTED_PROFILES_MAX = { alone: 10_000, ofSeveral: 100 };

/** The live visitors of a site on one lane, as in `LivePart` of `hot.ts`. */
export type LiveNumber = readonly [projectId: string, visitors: number, profiles: readonly number[]];

/** A broadcast, or the answer to a request, which has the number of the broadcast before it. */
export interface LiveNumbers {
  /** Random for each life of an owner. */
  readonly incarnation: number;
  /** Counts the broadcasts of the owner. */
  readonly number: number;
  readonly sites: readonly LiveNumber[];
  /** Sites of which the owner tells no longer, or not at all. */
  readonly untold: readonly string[];
}

export function liveWatchSubjectOf(lane: LaneName): string {
  return `live-watch.${lane}`;
}

export function liveNumbersSubjectOf(lane: LaneName): string {
  return `live-numbers.${lane}`;
}

export function encodeLiveWatch(projectId: string): Uint8Array {
  return Buffer.from(JSON.stringify({ version: VERSION, projectId }));
}

/**
 * The site that is asked for.
 * @throws {DecodeError}
 */
export function decodeLiveWatch(bytes: Uint8Array): string {
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

const watchSchema = z.object({ projectId: z.string() });
const count = z.int().min(0);
const numbersSchema: z.ZodType<LiveNumbers> = z.object({
  incarnation: count,
  number: count,
  sites: z.array(z.tuple([z.string(), count, z.array(z.number())])),
  untold: z.array(z.string()),
});
