import { busError, rejection } from './bus-error.ts';

/** JetStream's answer to a message that was published: where it is stored, or why it is not. */
interface PublishAnswer {
  readonly seq?: number;
  readonly error?: { readonly err_code: number; readonly description: string };
}

/**
 * The sequence of a stored message, from the stream's answer.
 * @throws {BusError} the stream rejected the message, or the answer is not a stream's
 */
export function sequenceIn(bytes: Uint8Array): number {
  let answer: PublishAnswer;
  try {
    answer = JSON.parse(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
    ) as PublishAnswer;
  } catch (error) {
    throw busError('publish', error);
  }
  if (answer.error !== undefined) throw rejection('publish', answer.error);
  if (typeof answer.seq !== 'number') throw busError('publish', 'the answer names no sequence');
  return answer.seq;
}
