import { z } from 'zod';
import type { Bus } from '../infra/bus/bus.ts';
import { BusError } from '../infra/bus/bus-error.ts';
import { DecodeError } from '../infra/bus/decode-error.ts';
import { decodeJsonContract } from '../infra/bus/json-contract.ts';
import { partitionOf } from './event.ts';

/**
 * CONTRACT between programs that want to know a profile or a group now and the partition's owner: one JSON question, one
 * JSON answer, on core NATS, each with a `version`; JSON without one is version 0, which is otherwise the same. The owner
 * answers after every update that the bus has, and from memory where it can, so that an entity that was changed lately is
 * known also while the store is away.
 */
export const ENTITY_LOOKUP_VERSION = 1;
const VERSIONS = [0, ENTITY_LOOKUP_VERSION];

/**
 * The version of the other question: whether the store has all profiles of a site. It has a subject of its own, on which an
 * owner that does not know it is silent.
 */
export const STORED_PROFILES_VERSION = 1;

/** Asks an owner to wait until the store has every profile of the site that updates on the bus have changed. */
export interface StoredProfilesQuestion {
  readonly projectId: string;
}

/** `unavailable`: the owner cannot say so, because it is behind the bus or the store is away. */
export interface StoredProfilesAnswer {
  readonly kind: 'stored' | 'unavailable';
}

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

/** `unavailable`: the entity is not in memory and the store is away, or the owner is behind the bus. */
export type EntityAnswer =
  | { readonly kind: 'found'; readonly record: ProfileEntity | GroupEntity }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unavailable' };

/** The core NATS subject that a partition's owner answers these questions on. */
export function entityLookupSubjectOf(partition: number): string {
  return `entity-questions.${partition}`;
}

/** The core NATS subject for `StoredProfilesQuestion`. */
export function storedProfilesSubjectOf(partition: number): string {
  return `stored-profiles.${partition}`;
}

/** Decides an entity's partition, together with its site. */
export function entityKeyOf(kind: 'profile' | 'group' | 'order' | 'tally', id: string): string {
  return `${kind} ${id}`;
}

const text = z.string();
const texts = z.array(z.string());
const timeMs = z.number();
const record = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('profile'),
    id: text,
    firstName: text,
    lastName: text,
    email: text,
    avatar: text,
    properties: texts,
    groups: texts,
    createdAtMs: timeMs,
    updatedAtMs: timeMs,
  }),
  z.object({
    kind: z.literal('group'),
    id: text,
    type: text,
    name: text,
    properties: texts,
    createdAtMs: timeMs,
    updatedAtMs: timeMs,
  }),
]);
const questionSchema: z.ZodType<EntityQuestion> = z.object({
  kind: z.enum(['profile', 'group']),
  projectId: text,
  id: text,
});
const answerSchema: z.ZodType<EntityAnswer> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('found'), record }),
  z.object({ kind: z.literal('absent') }),
  z.object({ kind: z.literal('unavailable') }),
]);

export function encodeEntityQuestion(question: EntityQuestion): Uint8Array {
  return Buffer.from(JSON.stringify({ version: ENTITY_LOOKUP_VERSION, ...question }));
}

/** @throws {DecodeError} */
export function decodeEntityQuestion(bytes: Uint8Array): EntityQuestion {
  return decodeJsonContract(bytes, { name: 'entity question', versions: VERSIONS, schema: questionSchema });
}

export function encodeEntityAnswer(answer: EntityAnswer): Uint8Array {
  return Buffer.from(JSON.stringify({ version: ENTITY_LOOKUP_VERSION, ...answer }));
}

/** @throws {DecodeError} */
export function decodeEntityAnswer(bytes: Uint8Array): EntityAnswer {
  return decodeJsonContract(bytes, { name: 'entity answer', versions: VERSIONS, schema: answerSchema });
}

const storedQuestion = {
  name: 'stored profiles question',
  versions: [STORED_PROFILES_VERSION],
  schema: z.object({ projectId: text }),
};
const storedAnswer = {
  name: 'stored profiles answer',
  versions: [STORED_PROFILES_VERSION],
  schema: z.object({ kind: z.enum(['stored', 'unavailable']) }),
};

export function encodeStoredProfilesQuestion(question: StoredProfilesQuestion): Uint8Array {
  return Buffer.from(JSON.stringify({ version: STORED_PROFILES_VERSION, ...question }));
}

/** @throws {DecodeError} */
export function decodeStoredProfilesQuestion(bytes: Uint8Array): StoredProfilesQuestion {
  return decodeJsonContract(bytes, storedQuestion);
}

export function encodeStoredProfilesAnswer(answer: StoredProfilesAnswer): Uint8Array {
  return Buffer.from(JSON.stringify({ version: STORED_PROFILES_VERSION, ...answer }));
}

/** @throws {DecodeError} */
export function decodeStoredProfilesAnswer(bytes: Uint8Array): StoredProfilesAnswer {
  return decodeJsonContract(bytes, storedAnswer);
}

const UNAVAILABLE: EntityAnswer = { kind: 'unavailable' };

/** Asks the owners of partitions about their entities. */
export class EntityQuestions {
  readonly #bus: Pick<Bus, 'ask'>;
  readonly #partitions: number;
  readonly #timeoutMs: number;

  constructor(bus: Pick<Bus, 'ask'>, partitions: number, timeoutMs: number) {
    this.#bus = bus;
    this.#partitions = partitions;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Resolves when the store has every profile of the site that updates on the bus have changed; with the partitions of
   * which that cannot be said.
   */
  async untilStored(projectId: string): Promise<number[]> {
    const question = encodeStoredProfilesQuestion({ projectId });
    const isStored = async (partition: number) => {
      try {
        const bytes = await this.#bus.ask(storedProfilesSubjectOf(partition), question, this.#timeoutMs);
        return decodeStoredProfilesAnswer(bytes).kind === 'stored';
      } catch (error) {
        if (error instanceof BusError || error instanceof DecodeError) return false;
        throw error;
      }
    };
    const partitions = Array.from({ length: this.#partitions }, (_, partition) => partition);
    const stored = await Promise.all(partitions.map(isStored));
    return partitions.filter((partition) => stored[partition] === false);
  }

  /** `unavailable` also when the owner does not answer in time, or in a way that cannot be read. */
  async ask(question: EntityQuestion): Promise<EntityAnswer> {
    const key = entityKeyOf(question.kind, question.id);
    const subject = entityLookupSubjectOf(partitionOf(question.projectId, key, this.#partitions));
    try {
      return decodeEntityAnswer(
        await this.#bus.ask(subject, encodeEntityQuestion(question), this.#timeoutMs),
      );
    } catch (error) {
      if (error instanceof BusError || error instanceof DecodeError) return UNAVAILABLE;
      throw error;
    }
  }
}
