import { backoffMs } from '../../infra/concurrency/backoff.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { reasonOf } from '../../infra/log.ts';
import {
  decodeEntityQuestion,
  type EntityAnswer,
  encodeEntityAnswer,
  entityLookupSubjectOf,
} from '../../ingest/entity-lookup.ts';
import type { EntityDocument } from './document.ts';
import { ENTITY_RETRY, type EntityDeps } from './entity-flush.ts';
import { EntityLane } from './entity-lane.ts';

/** Keeps the records of a partition going for as long as its events are ours: answers, and starts again on errors. */
export class EntitySupervisor {
  readonly #options: EntityDeps;
  #lane: EntityLane | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopping = false;
  readonly #notify = new Notify();

  constructor(options: EntityDeps) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#keep();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#notify.wake();
    await this.#lane?.stop();
    await this.#running;
  }

  async #keep(): Promise<void> {
    const { bus, partition, log, metrics, random } = this.#options;
    const stopAnswering = bus.answer(entityLookupSubjectOf(partition), {
      reply: (bytes) => this.#answer(bytes),
      unavailable: () => encodeEntityAnswer({ kind: 'unavailable' }),
    });
    for (let attempt = 0; !this.#stopping; attempt += 1) {
      this.#lane = new EntityLane(this.#options);
      try {
        await this.#lane.run();
      } catch (error) {
        const reason = reasonOf(error);
        metrics.failures.add();
        log.error({ partition, reason }, 'entities: stopped; starting again from the checkpoint');
        await this.#notify.sleep(backoffMs(ENTITY_RETRY, attempt, random()));
      }
    }
    stopAnswering();
  }

  async #answer(bytes: Uint8Array): Promise<Uint8Array | undefined> {
    const document = await this.#lane?.read(decodeEntityQuestion(bytes));
    if (document === undefined || document === 'unavailable') return undefined;
    return encodeEntityAnswer(document === 'absent' ? { kind: 'absent' } : shown(document));
  }
}

function shown(document: EntityDocument): EntityAnswer {
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
