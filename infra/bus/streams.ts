import {
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';
import { BusError, busError, isAbsent, lacksRoom } from './bus-error.ts';

const SMALL_FILE_BYTES = 32_000;
const REWRITTEN_BYTES = 2_162_688;
/** Bytes that the server adds to a message before it compares it with its limit. */
const HEADROOM_BYTES = 1_024;

/** A stream that discards its oldest messages when it is full, and any message of this age. */
export interface OldestGo {
  readonly oldestGo: true;
  readonly ageMaxMs: number;
}

/** A stream of one subject, in files. */
export interface StreamPlan {
  readonly name: string;
  readonly subject: string;
  readonly bytesMax: number;
  /** Undefined: a full stream rejects new messages, so acknowledged messages stay. */
  readonly oldestGo: OldestGo | undefined;
  /** Number of servers that store it. An existing stream gets more, and never fewer. */
  readonly replicas: number;
}

/** Creates the stream, or gives an existing one these limits. */
export async function ensureStream(
  manager: JetStreamManager,
  { name, subject, bytesMax, oldestGo, replicas }: StreamPlan,
): Promise<void> {
  const limits = {
    max_bytes: bytesMax,
    discard: oldestGo === undefined ? DiscardPolicy.New : DiscardPolicy.Old,
    max_age: nanos(oldestGo?.ageMaxMs ?? 0),
  };
  try {
    const { config } = await manager.streams.info(name);
    const wanted = { ...limits, num_replicas: Math.max(config.num_replicas, replicas) };
    if (!isWithin(wanted, config)) await manager.streams.update(name, { ...config, ...wanted });
    return;
  } catch (error) {
    if (!isAbsent(error)) throw streamError(error, { name, bytesMax });
  }
  try {
    await manager.streams.add({
      name,
      subjects: [subject],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      num_replicas: replicas,
      duplicate_window: nanos(1_000),
      ...limits,
    });
  } catch (error) {
    throw streamError(error, { name, bytesMax });
  }
}

/** Makes a stream store only the messages of this subject. */
export async function renameSubject(manager: JetStreamManager, name: string, subject: string): Promise<void> {
  try {
    const { config } = await manager.streams.info(name);
    if (config.subjects.length === 1 && config.subjects[0] === subject) return;
    await manager.streams.update(name, { ...config, subjects: [subject] });
  } catch (error) {
    throw busError('stream', error);
  }
}

/** A server only says "insufficient storage resources available". This names the storage and the settings that help. */
function streamError(error: unknown, { name, bytesMax }: Pick<StreamPlan, 'name' | 'bytesMax'>): Error {
  if (!lacksRoom(error)) return busError('stream', error);
  return new BusError(
    `bus: stream ${name}: nats-server has no room to reserve ${bytesMax} bytes; raise max_file_store in the jetstream block of its configuration, or lower BUS_BYTES_MAX (FEED_BYTES_MAX for feeds)`,
    'full',
    error,
  );
}

/** True if a stream already has these values. */
export function isWithin(wanted: Partial<StreamConfig>, config: StreamConfig): boolean {
  return Object.entries(wanted).every(([name, value]) => config[name as keyof StreamConfig] === value);
}

/** True if a stream of this name exists. */
export async function hasStream(manager: JetStreamManager, name: string): Promise<boolean> {
  try {
    await manager.streams.info(name);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw busError('stream', error);
  }
}

/** Deletes a stream with all of its messages, if it exists. */
export async function deleteStream(manager: JetStreamManager, name: string): Promise<void> {
  try {
    await manager.streams.delete(name);
  } catch (error) {
    if (!isAbsent(error)) throw busError('stream', error);
  }
}

/** See `Bus.rewriteNeeds`. */
export async function rewriteNeeds(
  manager: JetStreamManager,
  name: string,
  messageMaxBytes: number,
): Promise<{ readonly bytes: number; readonly atOnceMax: number }> {
  try {
    const { config } = await manager.streams.info(name);
    const limit = config.max_bytes > 0 ? config.max_bytes : Number.POSITIVE_INFINITY;
    // The server divides a small stream into small files; any other stream has files larger than the rewrite threshold.
    return {
      bytes: limit / 4 < SMALL_FILE_BYTES ? SMALL_FILE_BYTES : REWRITTEN_BYTES,
      atOnceMax: Math.floor(Math.min(limit / 4, messageMaxBytes - HEADROOM_BYTES)),
    };
  } catch (error) {
    throw busError('stream', error);
  }
}
