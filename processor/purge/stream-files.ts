import { randomBytes } from 'node:crypto';
import type { Bus } from '../../infra/bus/bus.ts';
import type { Clock } from '../../infra/clock.ts';
import type { LaneName } from '../../infra/process/service-lanes.ts';
import { entityStreamOf, entitySubjectOf } from '../../ingest/entity-update.ts';
import { streamOf, subjectOf } from '../../ingest/event.ts';
import { type EraseCommandHead, encodeEraseCommands } from '../fold/erase-command.ts';
import type { LeaderJob } from '../leader-job/leader-job.ts';
import { type LaneEraser, PostponedError } from './lane-eraser.ts';
import type { PurgeMetrics } from './purge-metrics.ts';

const PUBLISH_TIMEOUT_MS = 10_000;
/** Time for a stream to become empty by itself. */
const EMPTY_WAIT_MS = 2_000;
const LOOK_MS = 100;

export interface StreamFilesDeps {
  readonly bus: Bus;
  readonly lanes: number;
  /** The lanes' names on the bus. */
  readonly nameOf: (lane: number) => LaneName;
  readonly clock: Clock;
  readonly metrics: PurgeMetrics;
  readonly eraser: Pick<LaneEraser, 'erase'>;
  readonly job: Pick<LeaderJob, 'sleep' | 'throwIfOver'>;
  /** Time that a lane may take to trim before the work is postponed. */
  readonly answerTimeoutMs: number;
}

/** A stream of a lane, and its padding. */
interface PaddedStream {
  readonly lane: number;
  readonly stream: string;
  readonly subject: string;
  /** The sequence of the last padding. */
  padded: number;
  /** Bytes of padding that are still needed; infinite before the first. */
  left: number;
}

/**
 * Resolves once no file of any lane's streams has a message that was trimmed before the call. The server leaves trimmed
 * messages in a file until the stream is empty, or until much more comes:
 *
 *     file   trimmed trimmed │ alive alive
 *            ················│······ padding · alive      padding is appended, 2 MB at most
 *                                            │ alive      everything up to it is trimmed, so the server rewrites the file
 *
 * A stream that becomes empty by itself gets no padding. Padding is a message without events, with an erase command for
 * nothing, so its flush ends there and is trimmed.
 * @throws {PostponedError} when lanes are stuck
 */
export async function clearStreamFiles(deps: StreamFilesDeps): Promise<void> {
  const { bus, lanes, nameOf, eraser, metrics, answerTimeoutMs } = deps;
  const streams = Array.from({ length: lanes }, (_, lane) => streamsOf(lane, nameOf(lane))).flat();
  const isEmpty = async ({ stream }: PaddedStream) => {
    const { first, last } = await bus.streamBounds(stream);
    return first > last;
  };
  const isTrimmed = async ({ stream, padded }: PaddedStream) =>
    (await bus.streamBounds(stream)).first > padded;
  const areEmpty = await Promise.all(
    streams.map((stream) => holdsWithin(deps, EMPTY_WAIT_MS, () => isEmpty(stream))),
  );
  let needed = streams.filter((_, index) => !areEmpty[index]);
  while (needed.length > 0) {
    for (const stream of needed) await pad(deps, stream);
    const erased = await eraser.erase([]);
    for (const stream of needed) {
      if (await holdsWithin(deps, answerTimeoutMs, () => isTrimmed(stream))) continue;
      metrics.postponed['lane-stuck'].add();
      throw new PostponedError('lane-stuck', [stream.lane], erased);
    }
    needed = needed.filter(({ left }) => left > 0);
  }
}

function streamsOf(lane: number, name: LaneName): PaddedStream[] {
  const start = { lane, padded: 0, left: Number.POSITIVE_INFINITY };
  return [
    { ...start, stream: streamOf(lane), subject: subjectOf(name) },
    { ...start, stream: entityStreamOf(lane), subject: entitySubjectOf(name) },
  ];
}

/** True if a condition comes true within this time. */
async function holdsWithin(
  { job }: StreamFilesDeps,
  waitMs: number,
  condition: () => Promise<boolean>,
): Promise<boolean> {
  const endMs = performance.now() + waitMs;
  while (!(await condition())) {
    if (performance.now() > endMs) return false;
    job.throwIfOver();
    await job.sleep(LOOK_MS);
  }
  return true;
}

/** Appends padding, as much as fits into one message. */
async function pad({ bus, clock }: StreamFilesDeps, target: PaddedStream): Promise<void> {
  const { bytes, atOnceMax } = await bus.rewriteNeeds(target.stream);
  const left = Math.min(bytes, target.left);
  const head = { publisherId: randomBytes(8).readBigUInt64LE(), sentAtMs: clock.nowMs() };
  const message = paddedMessage(head, Math.min(left, atOnceMax));
  target.padded = await bus.publish(target.subject, message, PUBLISH_TIMEOUT_MS);
  target.left = left - message.length;
}

/** A message without commands that is at least this long. */
function paddedMessage(head: EraseCommandHead, bytesMin: number): Uint8Array {
  const message = encodeEraseCommands(head, []);
  return Buffer.concat([message, Buffer.alloc(Math.max(0, bytesMin - message.length), ' ')]);
}
