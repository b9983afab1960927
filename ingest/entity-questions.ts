import type { Bus } from '../infra/bus/bus.ts';
import { BusError } from '../infra/bus/bus-error.ts';
import {
  decodeRecordAnswer,
  encodeRecordQuestion,
  type RecordAnswer,
  type RecordQuestion,
  recordKeyOf,
  recordLookupSubjectOf,
} from './entity-lookup.ts';
import { partitionOf } from './event.ts';

const UNAVAILABLE: RecordAnswer = { kind: 'unavailable' };

/** CONTRACT with everybody who wants to know a record now: asks the owner of its partition. */
export class RecordQuestions {
  readonly #bus: Bus;
  readonly #partitions: number;
  readonly #timeoutMs: number;

  constructor(bus: Bus, partitions: number, timeoutMs: number) {
    this.#bus = bus;
    this.#partitions = partitions;
    this.#timeoutMs = timeoutMs;
  }

  /** `unavailable` also when the owner does not answer in time. */
  async ask(question: RecordQuestion): Promise<RecordAnswer> {
    const key = recordKeyOf(question.kind, question.id);
    const subject = recordLookupSubjectOf(partitionOf(question.projectId, key, this.#partitions));
    try {
      return decodeRecordAnswer(
        await this.#bus.ask(subject, encodeRecordQuestion(question), this.#timeoutMs),
      );
    } catch (error) {
      if (error instanceof BusError) return UNAVAILABLE;
      throw error;
    }
  }
}
