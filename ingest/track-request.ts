import { isAscii, isUtf8 } from 'node:buffer';
import { SESSION_END, SESSION_START } from './event.ts';
import { flattenProperties, type ReservedProperties } from './properties.ts';
import { isRecord, TextRules } from './text-rules.ts';

/** Every `type` that the contract of `POST /track` names. */
export const TRACK_TYPES = [
  'track',
  'identify',
  'increment',
  'decrement',
  'group',
  'assign_group',
  'alias',
] as const;
/** Those of them that are taken today. */
export const ACCEPTED_TYPES: readonly string[] = ['track'];

export const BODY_MAX_BYTES = 65_536;
export const NAME_MAX = 80;
export const EVENT_ID_MAX = 64;
/** Identities are refused rather than cut: two long ones must not become one. */
export const IDENTITY_MAX = 256;
export const GROUPS_MAX = 256;

/** A `track` body that obeys the contract. Texts are empty when absent. */
export interface TrackBody extends ReservedProperties {
  readonly kind: 'track';
  readonly clientId: string;
  readonly clientSecret: string;
  /** The site, for a client that is not bound to one. */
  readonly projectId: string;
  readonly name: string;
  readonly profileId: string;
  readonly eventId: string;
  readonly groups: readonly string[];
  /** Flat: dotted keys and text values, alternating. */
  readonly properties: readonly string[];
}

/** A body that is refused with 400. `message` names the field. */
export interface BodyReject {
  readonly kind: 'reject';
  readonly reason: 'not-utf8' | 'not-json' | 'schema';
  readonly message: string;
}

/**
 * Reads one body in one pass. The first broken rule is named; unknown keys are ignored. `track-schema.ts` says the
 * same in zod, and a test holds the two equal.
 */
export function parseTrackBody(body: Uint8Array): TrackBody | BodyReject {
  if (!isUtf8(body)) return reject('not-utf8', 'body: expected UTF-8 text');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const text = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return reject('not-json', 'body: expected JSON');
  }
  // Valid UTF-8 holds no half surrogates and JSON no bare NUL, so that only an escape can bring one in.
  return readBody(value, new TextRules(text.includes('\\u')));
}

function readBody(value: unknown, rules: TextRules): TrackBody | BodyReject {
  if (!isRecord(value)) return reject('schema', 'body: expected an object with type and payload');
  const { type, payload } = value;
  if (typeof type !== 'string' || !ACCEPTED_TYPES.includes(type))
    return reject('schema', `type: expected ${ACCEPTED_TYPES.map((name) => `"${name}"`).join(' or ')}`);
  if (!isRecord(payload)) return reject('schema', 'payload: expected an object');
  const body = readTrack(value, payload, rules);
  return rules.problem === '' ? body : reject('schema', rules.problem);
}

function readTrack(
  body: Readonly<Record<string, unknown>>,
  payload: Readonly<Record<string, unknown>>,
  rules: TextRules,
): TrackBody {
  const name = readName(payload.name, rules);
  const { reserved, flat } = flattenProperties(payload.properties, rules);
  return {
    kind: 'track',
    clientId: rules.optional(body.clientId, 'clientId', IDENTITY_MAX),
    clientSecret: rules.optional(body.clientSecret, 'clientSecret', IDENTITY_MAX),
    projectId: rules.optional(body.projectId, 'projectId', IDENTITY_MAX),
    name,
    profileId: readProfileId(payload.profileId, rules),
    eventId: rules.optionalId(payload.eventId, 'payload.eventId', EVENT_ID_MAX),
    groups: readGroups(payload.groups, rules),
    properties: flat,
    path: reserved.path,
    referrer: reserved.referrer,
    title: reserved.title,
    timestampMs: reserved.timestampMs,
    deviceId: reserved.deviceId,
    address: reserved.address,
  };
}

function readName(value: unknown, rules: TextRules): string {
  if (typeof value !== 'string' || value === '')
    rules.fail('payload.name', `expected a non-empty string of at most ${NAME_MAX} characters`);
  else if (value === SESSION_START || value === SESSION_END)
    rules.fail('payload.name', `expected a name other than ${value}, which the service records by itself`);
  return rules.optional(value, 'payload.name', NAME_MAX);
}

function readProfileId(value: unknown, rules: TextRules): string {
  if (typeof value !== 'number') {
    if (value !== undefined && value !== null && typeof value !== 'string')
      rules.fail('payload.profileId', 'expected a string or a number');
    return rules.optional(value, 'payload.profileId', IDENTITY_MAX);
  }
  if (!Number.isFinite(value)) rules.fail('payload.profileId', 'expected a finite number');
  return String(value);
}

const NO_GROUPS: readonly string[] = [];

function readGroups(value: unknown, rules: TextRules): readonly string[] {
  if (value === undefined || value === null) return NO_GROUPS;
  if (!Array.isArray(value)) {
    rules.fail('payload.groups', 'expected an array of strings');
    return NO_GROUPS;
  }
  if (value.length > GROUPS_MAX) rules.fail('payload.groups', `expected at most ${GROUPS_MAX} groups`);
  for (let index = 0; index < value.length && rules.problem === ''; index += 1) {
    const where = `payload.groups.${index}`;
    if (typeof value[index] !== 'string') rules.fail(where, 'expected a string');
    rules.optional(value[index], where, IDENTITY_MAX);
  }
  return rules.problem === '' ? (value as readonly string[]) : NO_GROUPS;
}

function reject(reason: BodyReject['reason'], message: string): BodyReject {
  return { kind: 'reject', reason, message };
}
