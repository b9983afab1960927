import { DiscardPolicy, type JetStreamManager, nanos, RetentionPolicy, StorageType } from 'nats';
import { busError, isAbsent } from './bus-error.ts';

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
  /** Undefined: a full stream rejects new messages, so that what was acknowledged stays. */
  readonly oldestGo: OldestGo | undefined;
}

/** Creates the stream, or gives an existing one these limits. */
export async function ensureStream(
  manager: JetStreamManager,
  { name, subject, bytesMax, oldestGo }: StreamPlan,
): Promise<void> {
  const limits = {
    max_bytes: bytesMax,
    discard: oldestGo === undefined ? DiscardPolicy.New : DiscardPolicy.Old,
    max_age: nanos(oldestGo?.ageMaxMs ?? 0),
  };
  try {
    const { config } = await manager.streams.info(name);
    if (config.max_bytes !== bytesMax || config.max_age !== limits.max_age)
      await manager.streams.update(name, { ...config, ...limits });
    return;
  } catch (error) {
    if (!isAbsent(error)) throw busError('stream', error);
  }
  try {
    await manager.streams.add({
      name,
      subjects: [subject],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      num_replicas: 1,
      duplicate_window: nanos(1_000),
      ...limits,
    });
  } catch (error) {
    throw busError('stream', error);
  }
}

/** Whether there is a stream of this name. */
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
