import { z } from 'zod';
import { type StoredId, storedIdSchema } from '../infra/accounts/ids.ts';
import type { Bus } from '../infra/bus/bus.ts';
import { BusError } from '../infra/bus/bus-error.ts';
import { DecodeError } from '../infra/bus/decode-error.ts';
import { decodeJsonContract } from '../infra/bus/json-contract.ts';
import type { LaneName, ServiceLanes } from '../infra/process/service-lanes.ts';
import { lanesOfSite } from '../infra/store/shard-of.ts';
import type { DeviceId } from './event.ts';
import { laneOf } from './event.ts';

/**
 * CONTRACT between programs that ask for the current state of a profile, a group or an order and the lane's owner: one JSON question, one
 * JSON answer, on core NATS, each with a `version`. The owner answers after every update that the bus has, and from memory where it can:
 * a recently changed profile or group is known even while the store is unavailable.
 */
export const ENTITY_LOOKUP_VERSION = 1;
const VERSIONS = [ENTITY_LOOKUP_VERSION];

/** The version of the other question, on a subject of its own: does the store have all profiles and groups of a site? */
export const STORED_PROFILES_VERSION = 1;

/** Asks an owner to wait until the store has every profile and group of the site that updates on the bus have changed. */
export interface StoredProfilesQuestion {
  readonly projectId: StoredId;
}

/** `unavailable`: the owner cannot answer, because it is behind the bus or the store is unavailable. */
export interface StoredProfilesAnswer {
  readonly kind: 'stored' | 'unavailable';
}

export interface EntityQuestion {
  readonly kind: 'profile' | 'group' | 'order';
  readonly projectId: StoredId;
  readonly id: string;
  /** Asks whether a sender with these devices and no secret may change the profile or group; see `Authority`. */
  readonly devices?: readonly string[];
}

/** The known facts about a person. Texts are empty when unknown. */
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

/** The known facts about a group: a company, a team. */
export interface GroupEntity {
  readonly kind: 'group';
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly properties: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** An order that has come, and the answer to the event that counts for it. Both ids are empty when it has none. */
export interface OrderEntity {
  readonly kind: 'order';
  readonly id: string;
  readonly deviceId: DeviceId;
  readonly sessionId: string;
}

/**
 * `unavailable`: the entity is not in memory and the store is unavailable, or the owner is behind the bus. `absent` also means an order
 * with only refunds, or one whose answer is not known any more.
 */
export type EntityAnswer =
  | {
      readonly kind: 'found';
      readonly record: ProfileEntity | GroupEntity | OrderEntity;
      /** The answer for the `devices` of the question; absent without them, and while it cannot be said. */
      readonly mayChange?: boolean;
    }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unavailable' };

/** The core NATS subject that a lane's owner answers these questions on. */
export function entityLookupSubjectOf(lane: LaneName): string {
  return `entity-questions.${lane}`;
}

/** The core NATS subject for `StoredProfilesQuestion`. */
export function storedProfilesSubjectOf(lane: LaneName): string {
  return `stored-profiles.${lane}`;
}

/** Decides an entity's lane, together with its site. */
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
  z.object({ kind: z.literal('order'), id: text, deviceId: text, sessionId: text }),
]);
const questionSchema: z.ZodType<EntityQuestion> = z.object({
  kind: z.enum(['profile', 'group', 'order']),
  projectId: storedIdSchema,
  id: text,
  devices: texts.exactOptional(),
});
const answerSchema: z.ZodType<EntityAnswer> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('found'), record, mayChange: z.boolean().exactOptional() }),
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
  schema: z.object({ projectId: storedIdSchema }),
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

/** Asks the owners of lanes about their entities. */
export class EntityQuestions {
  readonly #bus: Pick<Bus, 'ask'>;
  readonly #lanes: ServiceLanes;
  readonly #timeoutMs: number;

  constructor(bus: Pick<Bus, 'ask'>, lanes: ServiceLanes, timeoutMs: number) {
    this.#bus = bus;
    this.#lanes = lanes;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Resolves when the store has every profile and group of the site that updates on the bus have changed. Returns the lanes
   * whose owners could not say so.
   */
  async untilStored(projectId: StoredId): Promise<number[]> {
    const question = encodeStoredProfilesQuestion({ projectId });
    const isStored = async (lane: number) => {
      try {
        const bytes = await this.#bus.ask(
          storedProfilesSubjectOf(this.#lanes.nameOf(lane)),
          question,
          this.#timeoutMs,
        );
        return decodeStoredProfilesAnswer(bytes).kind === 'stored';
      } catch (error) {
        if (error instanceof BusError || error instanceof DecodeError) return false;
        throw error;
      }
    };
    const lanes = lanesOfSite(projectId, this.#lanes.layout);
    const stored = await Promise.all(lanes.map(isStored));
    return lanes.filter((_, index) => stored[index] === false);
  }

  /** `unavailable` also when the owner does not answer in time, or in a way that cannot be read. */
  async ask(question: EntityQuestion): Promise<EntityAnswer> {
    const key = entityKeyOf(question.kind, question.id);
    const lane = laneOf(question.projectId, key, this.#lanes.layout);
    const subject = entityLookupSubjectOf(this.#lanes.nameOf(lane));
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
