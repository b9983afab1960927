import { unreachable } from '../../infra/assert.ts';
import { decimalText } from '../../infra/money.ts';
import { NO_SOFTWARE_CLAIM } from '../enrich/software-claim.ts';
import type { ProfileId } from '../event.ts';
import { flattenProperties, KEY_MAX, type ReservedProperties } from './properties.ts';
import { IDENTITY_MAX } from './sender-claims.ts';
import type { TextRules } from './text-rules.ts';

/** Types of a body that updates a profile or a group and records no event. */
export const ENTITY_UPDATE_TYPES = [
  'identify',
  'increment',
  'decrement',
  'group',
  'assign_group',
  'alias',
] as const;
export type EntityUpdateType = (typeof ENTITY_UPDATE_TYPES)[number];

/** Maximum characters of a first name, last name or e-mail address, and of a group's type and name. */
export const ENTITY_TEXT_MAX = 256;
export const AVATAR_MAX = 2048;
export const GROUP_IDS_MAX = 256;
/** Maximum characters of a step as decimal text, without its sign. */
export const STEP_MAX = 40;

/** Claims in reserved properties about the visitor; empty when absent, as in payloads without properties. */
export type Origin = Pick<ReservedProperties, 'deviceId' | 'address' | 'userAgent' | 'software'>;

/** Sets the given fields of a profile. Undefined leaves a field unchanged; the empty text is a value. */
export interface IdentifyPayload extends Origin {
  readonly kind: 'identify';
  readonly profileId: ProfileId;
  readonly firstName: string | undefined;
  readonly lastName: string | undefined;
  readonly email: string | undefined;
  readonly avatar: string | undefined;
  /** Flat: dotted keys and text values, alternating. */
  readonly properties: readonly string[];
}

/** Adds to a number among a profile's properties: `increment`, or `decrement` with a negative step. */
export interface StepPayload extends Origin {
  readonly kind: 'step';
  readonly profileId: ProfileId;
  /** A dotted key. */
  readonly property: string;
  /** Decimal text, with a leading `-` for a decrement. */
  readonly step: string;
}

/** Creates or changes a group. */
export interface GroupPayload extends Origin {
  readonly kind: 'group';
  readonly id: string;
  readonly type: string;
  readonly name: string;
  /** Flat, like a profile's. */
  readonly properties: readonly string[];
}

/** Adds a profile to groups; an empty `profileId` means the caller's device. */
export interface AssignGroupPayload extends Origin {
  readonly kind: 'assign_group';
  readonly profileId: ProfileId;
  readonly groupIds: readonly string[];
}

/** From now on, acts of `alias` count as acts of `profileId`. The two differ. */
export interface AliasPayload extends Origin {
  readonly kind: 'alias';
  readonly profileId: ProfileId;
  readonly alias: string;
}

export type EntityPayload = IdentifyPayload | StepPayload | GroupPayload | AssignGroupPayload | AliasPayload;

type PayloadFields = Readonly<Record<string, unknown>>;

/** Reads the payload of one type. The result is valid only when `rules` has no problem. */
export function readEntityPayload(
  type: EntityUpdateType,
  fields: PayloadFields,
  rules: TextRules,
): EntityPayload {
  switch (type) {
    case 'identify':
      return readIdentify(fields, rules);
    case 'increment':
      return readStep(fields, rules, '');
    case 'decrement':
      return readStep(fields, rules, '-');
    case 'group':
      return readGroup(fields, rules);
    case 'assign_group':
      return readAssignGroup(fields, rules);
    case 'alias':
      return readAlias(fields, rules);
    default:
      return unreachable(type);
  }
}

function readIdentify(fields: PayloadFields, rules: TextRules): IdentifyPayload {
  const profileId = readProfileId(fields, rules);
  const given = (field: string, max: number) => {
    const value = fields[field];
    return value === undefined || value === null ? undefined : rules.optional(value, `payload.${field}`, max);
  };
  const firstName = given('firstName', ENTITY_TEXT_MAX);
  const lastName = given('lastName', ENTITY_TEXT_MAX);
  const email = given('email', ENTITY_TEXT_MAX);
  const avatar = given('avatar', AVATAR_MAX);
  const { flat, reserved } = flattenProperties(fields.properties, rules);
  const texts = { profileId, firstName, lastName, email, avatar };
  return { kind: 'identify', ...texts, properties: flat, ...originOf(reserved) };
}

function readStep(fields: PayloadFields, rules: TextRules, sign: '' | '-'): StepPayload {
  const profileId = readProfileId(fields, rules);
  const property = rules.required(fields.property, 'payload.property', KEY_MAX);
  const step = sign + readStepSize(fields.value, rules);
  return { kind: 'step', profileId, property, step, ...NO_ORIGIN };
}

function readStepSize(value: unknown, rules: TextRules): string {
  if (value === undefined || value === null) return '1';
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) {
    rules.fail('payload.value', 'expected a number greater than 0');
    return '';
  }
  const text = decimalText(value);
  if (text.length > STEP_MAX)
    rules.fail('payload.value', `expected a number of at most ${STEP_MAX} characters without an exponent`);
  return text;
}

function readGroup(fields: PayloadFields, rules: TextRules): GroupPayload {
  const id = rules.identity(fields.id, 'payload.id', IDENTITY_MAX);
  const type = rules.required(fields.type, 'payload.type', ENTITY_TEXT_MAX);
  const name = rules.required(fields.name, 'payload.name', ENTITY_TEXT_MAX);
  const { flat, reserved } = flattenProperties(fields.properties, rules);
  return { kind: 'group', id, type, name, properties: flat, ...originOf(reserved) };
}

function readAssignGroup(fields: PayloadFields, rules: TextRules): AssignGroupPayload {
  const profileId = rules.optionalIdentity(fields.profileId, 'payload.profileId', IDENTITY_MAX);
  return { kind: 'assign_group', profileId, groupIds: readGroupIds(fields.groupIds, rules), ...NO_ORIGIN };
}

function readGroupIds(value: unknown, rules: TextRules): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > GROUP_IDS_MAX) {
    rules.fail('payload.groupIds', `expected an array of 1 to ${GROUP_IDS_MAX} strings`);
    return [];
  }
  return value.map((id: unknown, index) => {
    const where = `payload.groupIds.${index}`;
    if (typeof id !== 'string') rules.fail(where, 'expected a string');
    return rules.optionalId(id, where, IDENTITY_MAX);
  });
}

function readAlias(fields: PayloadFields, rules: TextRules): AliasPayload {
  const profileId = readProfileId(fields, rules);
  const alias = rules.identity(fields.alias, 'payload.alias', IDENTITY_MAX);
  if (alias === profileId) rules.fail('payload.alias', 'expected an id other than payload.profileId');
  return { kind: 'alias', profileId, alias, ...NO_ORIGIN };
}

function readProfileId(fields: PayloadFields, rules: TextRules): string {
  return rules.identity(fields.profileId, 'payload.profileId', IDENTITY_MAX);
}

function originOf({ deviceId, address, userAgent, software }: ReservedProperties): Origin {
  return { deviceId, address, userAgent, software };
}

export const NO_ORIGIN: Origin = { deviceId: '', address: '', userAgent: '', software: NO_SOFTWARE_CLAIM };
