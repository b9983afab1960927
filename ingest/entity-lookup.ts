import type { Bus } from '../infra/bus/bus.ts';
import { BusError } from '../infra/bus/bus-error.ts';
import { partitionOf } from './event.ts';

/**
 * CONTRACT between whoever wants to know a record now and the partition's owner, who keeps it: one JSON question, one
 * JSON answer, on core NATS. The owner answers after every update that the bus has, and from memory where it can, so
 * that what was touched lately is known also while the store is away.
 */
export interface EntityQuestion {
  readonly kind: 'profile' | 'group';
  readonly projectId: string;
  readonly id: string;
}

/** What is known of a person. Texts are empty when unknown. */
export interface ProfileEntity {
  readonly kind: 'profile';
  readonly id: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly avatar: string;
  /** Flat: dotted keys and text values, alternating. */
  readonly properties: readonly string[];
  readonly groups: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** What is known of a group: a company, a team. */
export interface GroupEntity {
  readonly kind: 'group';
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly properties: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** `unavailable`: the record is not in memory and the store is away, or the owner is behind. */
export type EntityAnswer =
  | { readonly kind: 'found'; readonly record: ProfileEntity | GroupEntity }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unavailable' };

/** The core NATS subject that a partition's owner answers these questions on. */
export function entityLookupSubjectOf(partition: number): string {
  return `entity-questions.${partition}`;
}

/** What decides a record's partition, together with its site. */
export function entityKeyOf(kind: 'profile' | 'group' | 'order' | 'tally', id: string): string {
  return `${kind} ${id}`;
}

export function encodeEntityQuestion(question: EntityQuestion): Uint8Array {
  return Buffer.from(JSON.stringify(question));
}

export function decodeEntityQuestion(bytes: Uint8Array): EntityQuestion {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as EntityQuestion;
}

export function encodeEntityAnswer(answer: EntityAnswer): Uint8Array {
  return Buffer.from(JSON.stringify(answer));
}

export function decodeEntityAnswer(bytes: Uint8Array): EntityAnswer {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as EntityAnswer;
}

const UNAVAILABLE: EntityAnswer = { kind: 'unavailable' };

/** CONTRACT with everybody who wants to know a record now: asks the owner of its partition. */
export class EntityQuestions {
  readonly #bus: Bus;
  readonly #partitions: number;
  readonly #timeoutMs: number;

  constructor(bus: Bus, partitions: number, timeoutMs: number) {
    this.#bus = bus;
    this.#partitions = partitions;
    this.#timeoutMs = timeoutMs;
  }

  /** `unavailable` also when the owner does not answer in time. */
  async ask(question: EntityQuestion): Promise<EntityAnswer> {
    const key = entityKeyOf(question.kind, question.id);
    const subject = entityLookupSubjectOf(partitionOf(question.projectId, key, this.#partitions));
    try {
      return decodeEntityAnswer(
        await this.#bus.ask(subject, encodeEntityQuestion(question), this.#timeoutMs),
      );
    } catch (error) {
      if (error instanceof BusError) return UNAVAILABLE;
      throw error;
    }
  }
}
