import { backoffMs } from '../../infra/concurrency/backoff.ts';
import { Naps } from '../../infra/concurrency/naps.ts';
import { reasonOf } from '../../infra/log.ts';
import {
  decodeRecordQuestion,
  encodeRecordAnswer,
  type RecordAnswer,
  recordLookupSubjectOf,
} from '../../ingest/entity-lookup.ts';
import type { RecordDocument } from './document.ts';
import { RECORD_RETRY, type RecordParts } from './entity-flush.ts';
import { RecordLane } from './entity-lane.ts';

/** Keeps the records of a partition going for as long as its events are ours: answers, and starts again on errors. */
export class RecordKeeper {
  readonly #options: RecordParts;
  #lane: RecordLane | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopping = false;
  readonly #naps = new Naps();

  constructor(options: RecordParts) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#keep();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#naps.wake();
    await this.#lane?.stop();
    await this.#running;
  }

  async #keep(): Promise<void> {
    const { bus, partition, log, metrics, random } = this.#options;
    const stopAnswering = bus.answer(recordLookupSubjectOf(partition), (bytes) => this.#answer(bytes));
    for (let attempt = 0; !this.#stopping; attempt += 1) {
      this.#lane = new RecordLane(this.#options);
      try {
        await this.#lane.run();
      } catch (error) {
        const reason = reasonOf(error);
        metrics.failures.add();
        log.error({ partition, reason }, 'records: stopped; starting again from the checkpoint');
        await this.#naps.sleep(backoffMs(RECORD_RETRY, attempt, random()));
      }
    }
    stopAnswering();
  }

  async #answer(bytes: Uint8Array): Promise<Uint8Array> {
    let answer: RecordAnswer = { kind: 'unavailable' };
    try {
      const document = await this.#lane?.read(decodeRecordQuestion(bytes));
      if (document === 'absent') answer = { kind: 'absent' };
      else if (document !== undefined && document !== 'unavailable') answer = shown(document);
    } catch (error) {
      const reason = reasonOf(error);
      this.#options.log.warn({ partition: this.#options.partition, reason }, 'records: a question failed');
    }
    return encodeRecordAnswer(answer);
  }
}

function shown(document: RecordDocument): RecordAnswer {
  const { id, createdAtMs, updatedAtMs } = document;
  if (document.kind === 'profile') {
    const { kind, firstName, lastName, email, avatar, groups, properties } = document;
    const record = {
      kind,
      id,
      firstName,
      lastName,
      email,
      avatar,
      properties,
      groups,
      createdAtMs,
      updatedAtMs,
    };
    return { kind: 'found', record };
  }
  if (document.kind === 'group') {
    const { kind, type, name, properties } = document;
    return { kind: 'found', record: { kind, id, type, name, properties, createdAtMs, updatedAtMs } };
  }
  return { kind: 'absent' };
}
