import { isAscii, isUtf8 } from 'node:buffer';
import { isNestedDeeper } from '../../infra/http/json-nesting.ts';
import { isReferrer } from '../enrich/referrer.ts';
import type { ProfileId } from '../event.ts';
import { SESSION_END, SESSION_START } from '../event.ts';
import {
  type AliasPayload,
  type AssignGroupPayload,
  ENTITY_UPDATE_TYPES,
  type GroupPayload,
  type IdentifyPayload,
  NO_ORIGIN,
  type Origin,
  readEntityPayload,
  type StepPayload,
} from './entity-payload.ts';
import { JsonElements } from './json-elements.ts';
import { DEPTH_MAX, flattenProperties, type ReservedProperties } from './properties.ts';
import { claimsRevenue, type RevenueClaim, readRevenueClaim } from './revenue-claim.ts';
import { IDENTITY_MAX, readSenderClaims, type SenderClaims } from './sender-claims.ts';
import { isRecord, TextRules } from './text-rules.ts';

/** Every `type` that `POST /track` accepts. */
export const TRACK_TYPES = ['track', ...ENTITY_UPDATE_TYPES, 'replay'] as const;

export const BODY_MAX_BYTES = 65_536;
/** Bodies in one batch. */
export const BATCH_MAX = 2_000;
export const NAME_MAX = 80;
export const EVENT_ID_MAX = 64;
export const GROUPS_MAX = 256;
/** Levels of objects and arrays in a body: the body, its payload, and what a property may have. */
export const BODY_NESTING_MAX = 2 + DEPTH_MAX;

/** The fields of every body besides its payload. Texts are empty when absent. */
interface BodyHead extends SenderClaims {
  /** Idempotency key: of the payload, or else the one beside `type`. */
  readonly eventId: string;
}

/** A valid `track` body. Texts are empty when absent. */
export interface TrackBody extends BodyHead, ReservedProperties {
  readonly kind: 'track';
  readonly name: string;
  readonly profileId: ProfileId;
  readonly groups: readonly string[];
  /** Flat: dotted keys and text values, alternating. */
  readonly properties: readonly string[];
  /** For events with money: named `revenue`, or with an amount or a refund. */
  readonly revenue: RevenueClaim | undefined;
}

export interface IdentifyBody extends BodyHead, IdentifyPayload {}
export interface StepBody extends BodyHead, StepPayload {}
export interface GroupBody extends BodyHead, GroupPayload {}
export interface AssignGroupBody extends BodyHead, AssignGroupPayload {}
export interface AliasBody extends BodyHead, AliasPayload {}

/** A body that updates an entity and records no event. */
export type EntityBody = IdentifyBody | StepBody | GroupBody | AssignGroupBody | AliasBody;

/** A part of a recorded session. The content of its payload is not read. */
export interface ReplayBody extends BodyHead, Origin {
  readonly kind: 'replay';
}

export type AcceptedBody = TrackBody | EntityBody | ReplayBody;

/** A rejected body. `message` names the field. */
export interface BodyReject {
  readonly kind: 'reject';
  readonly reason: 'not-utf8' | 'not-json' | 'schema' | 'too-large';
  readonly message: string;
}

/** The result of reading one body. */
export type ParsedBody = AcceptedBody | BodyReject;

/** A batch, body by body in its order: a rejected one does not fail the others. */
export interface BatchBody {
  readonly kind: 'batch';
  readonly bodies: readonly ParsedBody[];
}

/**
 * Reads one body in one pass. The first problem is reported; unknown keys are ignored, and the last of two equal keys
 * counts. `track-schema.ts` describes the same in zod, and a test compares the two.
 */
export function parseTrackBody(body: Uint8Array): ParsedBody {
  const json = readJson(body);
  return json.kind === 'json' ? readBody(json.value, new TextRules(json.mayBeBroken)) : json;
}

/** Reads the body of `POST /track/batch` in one go. */
export function parseBatchBody(body: Uint8Array): BatchBody | BodyReject {
  const reader = new BatchReader(body);
  while (reader.readNext());
  return reader.result();
}

/**
 * Reads the body of `POST /track/batch`: an array of bodies as `parseTrackBody` reads them, each within the same size limit. Each is parsed
 * separately, so that a caller can let the event loop run between two.
 */
export class BatchReader {
  readonly #body: Buffer;
  readonly #elements: JsonElements;
  readonly #isOneByte: boolean;
  readonly #bodies: ParsedBody[] = [];
  #problem: BodyReject | undefined;

  constructor(body: Uint8Array) {
    this.#body = bufferOf(body);
    this.#elements = new JsonElements(body);
    this.#isOneByte = isAscii(body);
    if (!this.#isOneByte && !isUtf8(body)) this.#problem = NOT_UTF8;
  }

  /** Reads one body, or a part of a large one. False: there is none left, or the batch as a whole is wrong. */
  readNext(): boolean {
    if (this.#problem !== undefined) return false;
    const element = this.#elements.next();
    if (element === undefined) return this.#elements.end === 'open';
    if (this.#bodies.length === BATCH_MAX) {
      this.#problem = NO_BATCH;
      return false;
    }
    const { start, end, depth } = element;
    if (end - start > BODY_MAX_BYTES) this.#bodies.push(TOO_LARGE);
    else if (depth > BODY_NESTING_MAX) this.#bodies.push(TOO_DEEP);
    else {
      const json = parsedJson(this.#body.toString(this.#isOneByte ? 'latin1' : 'utf8', start, end));
      if (json.kind === 'reject') this.#problem = json;
      else this.#bodies.push(readBody(json.value, new TextRules(json.mayBeBroken)));
    }
    return this.#problem === undefined;
  }

  /** All bodies, after the last `readNext`. */
  result(): BatchBody | BodyReject {
    if (this.#problem !== undefined) return this.#problem;
    switch (this.#elements.end) {
      case 'no-array':
        // Only a short body is parsed to distinguish invalid JSON from JSON that is no array.
        return this.#body.length <= BODY_MAX_BYTES && readJson(this.#body).kind === 'reject'
          ? NOT_JSON
          : NO_BATCH;
      case 'ended':
        return this.#bodies.length === 0 ? NO_BATCH : { kind: 'batch', bodies: this.#bodies };
      default:
        return NOT_JSON;
    }
  }
}

/** Parsed JSON. */
interface Json {
  readonly kind: 'json';
  readonly value: unknown;
  /** True if a text in it may hold NUL or a lone surrogate. */
  readonly mayBeBroken: boolean;
}

function readJson(body: Uint8Array): Json | BodyReject {
  const isOneByte = isAscii(body);
  if (!isOneByte && !isUtf8(body)) return NOT_UTF8;
  const text = bufferOf(body).toString(isOneByte ? 'latin1' : 'utf8');
  return isNestedDeeper(text, BODY_NESTING_MAX, body) ? TOO_DEEP : parsedJson(text);
}

function parsedJson(text: string): Json | BodyReject {
  try {
    // Valid UTF-8 holds no lone surrogates and JSON no raw NUL, so that only an escape can produce one.
    return { kind: 'json', value: JSON.parse(text), mayBeBroken: text.includes('\\u') };
  } catch {
    return NOT_JSON;
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function readBody(value: unknown, rules: TextRules): ParsedBody {
  if (!isRecord(value)) return reject('schema', 'body: expected an object with type and payload');
  const { type, payload } = value;
  const known = TRACK_TYPES.find((name) => name === type);
  if (known === undefined)
    return reject('schema', `type: expected ${TRACK_TYPES.map((name) => `"${name}"`).join(' or ')}`);
  if (!isRecord(payload)) return reject('schema', 'payload: expected an object');
  const body = readKnown(known, value, payload, rules);
  return rules.problem === '' ? body : reject('schema', rules.problem);
}

function readKnown(
  type: (typeof TRACK_TYPES)[number],
  body: Readonly<Record<string, unknown>>,
  payload: Readonly<Record<string, unknown>>,
  rules: TextRules,
): AcceptedBody {
  if (type === 'track') return readTrack(body, payload, rules);
  if (type === 'replay') return { kind: 'replay', ...readHead(body, NO_PAYLOAD, rules), ...NO_ORIGIN };
  return { ...readHead(body, payload, rules), ...readEntityPayload(type, payload, rules) };
}

const NO_PAYLOAD: Readonly<Record<string, unknown>> = {};

function readHead(
  body: Readonly<Record<string, unknown>>,
  payload: Readonly<Record<string, unknown>>,
  rules: TextRules,
): BodyHead {
  const inPayload = rules.optionalId(payload.eventId, 'payload.eventId', EVENT_ID_MAX);
  const eventId = rules.optionalId(body.eventId, 'eventId', EVENT_ID_MAX);
  const { clientId, clientSecret, projectId } = readSenderClaims(body, rules);
  return { clientId, clientSecret, projectId, eventId: inPayload || eventId };
}

function readTrack(
  body: Readonly<Record<string, unknown>>,
  payload: Readonly<Record<string, unknown>>,
  rules: TextRules,
): TrackBody {
  const head = readHead(body, payload, rules);
  const name = readName(payload.name, rules);
  const { reserved, flat } = flattenProperties(payload.properties, rules);
  if (!isReferrer(reserved.referrer)) rules.fail('payload.properties.__referrer', REFERRER);
  return {
    kind: 'track',
    clientId: head.clientId,
    clientSecret: head.clientSecret,
    projectId: head.projectId,
    name,
    profileId: rules.optionalIdentity(payload.profileId, 'payload.profileId', IDENTITY_MAX),
    eventId: head.eventId,
    groups: readGroups(payload.groups, rules),
    properties: flat,
    revenue: readRevenue(name, payload.properties, rules),
    path: reserved.path,
    referrer: reserved.referrer,
    title: reserved.title,
    language: reserved.language,
    timezone: reserved.timezone,
    screen: reserved.screen,
    timestampMs: reserved.timestampMs,
    deviceId: reserved.deviceId,
    address: reserved.address,
    userAgent: reserved.userAgent,
    software: reserved.software,
  };
}

const REFERRER = 'expected a URL such as https://example.com/, or an empty string';

function readName(value: unknown, rules: TextRules): string {
  if (value === SESSION_START || value === SESSION_END)
    rules.fail('payload.name', `expected a name other than ${value}, which is reserved`);
  return rules.required(value, 'payload.name', NAME_MAX);
}

/** Properties that are not an object were rejected in `flattenProperties`. */
function readRevenue(name: string, properties: unknown, rules: TextRules): RevenueClaim | undefined {
  const given = isRecord(properties) ? properties : NO_PAYLOAD;
  return claimsRevenue(name, given) ? readRevenueClaim(given, rules) : undefined;
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

const NOT_UTF8 = reject('not-utf8', 'body: expected UTF-8 text');
const NOT_JSON = reject('not-json', 'body: expected JSON');
const NO_BATCH = reject('schema', `body: expected an array of 1 to ${BATCH_MAX} bodies`);
const TOO_LARGE = reject('too-large', `body: expected at most ${BODY_MAX_BYTES} bytes`);
const TOO_DEEP = reject('schema', `body: expected at most ${DEPTH_MAX} levels below payload`);
