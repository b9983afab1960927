import { cutText } from '../../infra/http/cut-text.ts';
import { NESTING_MAX } from '../../infra/http/json-nesting.ts';
import { cut, PAGE_LIMITS } from '../enrich/page.ts';
import { REFERRER_MAX } from '../enrich/referrer.ts';
import {
  type GivenSoftware,
  NO_SOFTWARE_CLAIM,
  type SoftwareClaim,
  softwareClaimOf,
} from '../enrich/software-claim.ts';
import { DEVICES, deviceKindOf } from '../enrich/user-agent-device.ts';
import { USER_AGENT_MAX } from '../enrich/user-agent-version.ts';
import type { DeviceId } from '../event.ts';
import { isRecord, type TextRules } from './text-rules.ts';
import { parseInstant } from './timestamp.ts';

export const KEYS_MAX = 256;
export const VALUE_MAX_BYTES = 4096;
/** A nested key repeats its parents in each leaf; the limit keeps the event within `EVENT_MAX_BYTES`. */
export const KEY_MAX = 200;
/** Levels of objects and arrays below `properties`. */
export const DEPTH_MAX = NESTING_MAX;
/** Objects and arrays in the properties of one body. Empty ones add no key, and each costs as much as one. */
const CONTAINERS_MAX = 1_024;

/**
 * A path and a locale may have any length a body allows: page.ts reads only the parts that it keeps, and to locale.ts long ones mean
 * nothing. Title and referrer are cut here, before they are parsed.
 */
export const PAGE_TEXT_MAX = Number.POSITIVE_INFINITY;
export const DEVICE_ID_MAX = 64;

/** The values of reserved properties, which are not stored as properties. Texts are empty when absent. */
export interface ReservedProperties {
  readonly path: string;
  readonly referrer: string;
  readonly title: string;
  readonly language: string;
  readonly timezone: string;
  readonly screen: string;
  readonly timestampMs: number | undefined;
  readonly deviceId: DeviceId;
  readonly address: string;
  /** Cut like the header that it replaces. */
  readonly userAgent: string;
  readonly software: SoftwareClaim;
}

/** The properties in which a sender describes its device. */
export const SOFTWARE_PROPERTIES = {
  __os: 'os',
  __osVersion: 'osVersion',
  __browser: 'browser',
  __browserVersion: 'browserVersion',
  __device: 'device',
  __brand: 'brand',
  __model: 'model',
} as const satisfies Record<string, keyof SoftwareClaim>;
const SOFTWARE_FIELDS: ReadonlyMap<string, keyof SoftwareClaim> = new Map(
  Object.entries(SOFTWARE_PROPERTIES),
);

/** The properties of money (revenue-claim.ts). They are not stored as properties on any event. */
const REVENUE_PROPERTIES: readonly string[] = [
  '__amount',
  '__currency',
  '__orderId',
  '__refund',
  '__revenue',
];

interface Flattened {
  readonly reserved: ReservedProperties;
  /** Dotted keys and text values, alternating. */
  readonly flat: readonly string[];
}

const NOTHING_RESERVED: ReservedProperties = {
  path: '',
  referrer: '',
  title: '',
  language: '',
  timezone: '',
  screen: '',
  timestampMs: undefined,
  deviceId: '',
  address: '',
  userAgent: '',
  software: NO_SOFTWARE_CLAIM,
};
const NOTHING: Flattened = { reserved: NOTHING_RESERVED, flat: [] };

/**
 * Separates the reserved properties from the free ones, which become dotted keys (an array's by index) with text
 * values. Null counts as absent. Keys are data: none becomes a property of an object of ours.
 */
export function flattenProperties(value: unknown, rules: TextRules): Flattened {
  if (value === undefined || value === null) return NOTHING;
  if (!isRecord(value)) {
    rules.fail('payload.properties', 'expected an object');
    return NOTHING;
  }
  const flattening = new Flattening(rules);
  for (const key of Object.keys(value)) {
    if (key.charCodeAt(0) === UNDERSCORE && flattening.reserve(key, value[key])) continue;
    flattening.add(key, value[key], 1);
    if (rules.problem !== '') return NOTHING;
  }
  return { reserved: flattening.finishReserved(), flat: flattening.finish() };
}

const UNDERSCORE = 95;

class Flattening {
  readonly #rules: TextRules;
  #flat: string[] = [];
  #software: GivenSoftware | undefined;
  #containers = 0;
  #dotted = false;
  reserved: { -readonly [Name in keyof ReservedProperties]: ReservedProperties[Name] } = {
    ...NOTHING_RESERVED,
  };

  constructor(rules: TextRules) {
    this.#rules = rules;
  }

  /** Reads a reserved property; false when `key` is not one. */
  reserve(key: string, value: unknown): boolean {
    const { reserved } = this;
    if (key === '__path') reserved.path = this.#text(key, value);
    else if (key === '__referrer') reserved.referrer = cutText(this.#text(key, value), REFERRER_MAX);
    else if (key === '__title') reserved.title = cut(this.#text(key, value), PAGE_LIMITS.title);
    else if (key === '__language') reserved.language = this.#text(key, value);
    else if (key === '__timezone') reserved.timezone = this.#text(key, value);
    else if (key === '__screen') reserved.screen = this.#text(key, value);
    else if (key === '__ip') reserved.address = this.#text(key, value);
    else if (key === '__userAgent') reserved.userAgent = cutText(this.#text(key, value), USER_AGENT_MAX);
    else if (key === '__deviceId')
      reserved.deviceId = this.#rules.optionalId(value, whereOf(key), DEVICE_ID_MAX);
    else if (key === '__timestamp') reserved.timestampMs = this.#instant(key, value);
    else return REVENUE_PROPERTIES.includes(key) || this.#reserveSoftware(key, value);
    return true;
  }

  #reserveSoftware(key: string, value: unknown): boolean {
    const field = SOFTWARE_FIELDS.get(key);
    if (field === undefined) return false;
    const text = this.#rules.optionalIdentity(value, whereOf(key), PAGE_TEXT_MAX);
    this.#software ??= {};
    if (field !== 'device') this.#software[field] = text;
    else if (text !== '') {
      this.#software.device = deviceKindOf(text);
      if (this.#software.device === undefined)
        this.#rules.fail(whereOf(key), `expected one of ${DEVICES.join(', ')}`);
    }
    return true;
  }

  /** The reserved properties that were read. */
  finishReserved(): ReservedProperties {
    if (this.#software !== undefined) this.reserved.software = softwareClaimOf(this.#software);
    return this.reserved;
  }

  /** Adds one property with everything below it. */
  add(key: string, value: unknown, depth: number): void {
    if (value === null || this.#rules.problem !== '') return;
    if (key.includes('.') && depth === 1) this.#dotted = true;
    if (typeof value === 'object') this.#addNested(key, value as object, depth);
    else this.#addLeaf(key, value);
  }

  /** The flat list. When two paths give the same dotted key, the later one counts. */
  finish(): readonly string[] {
    if (this.#containers === 0 || !this.#dotted) return this.#flat;
    const values = new Map<string, string>();
    for (let index = 0; index < this.#flat.length; index += 2)
      values.set(this.#flat[index] ?? '', this.#flat[index + 1] ?? '');
    return [...values].flat();
  }

  #addNested(key: string, value: object, depth: number): void {
    if (depth >= DEPTH_MAX) {
      this.#rules.fail(whereOf(key), `expected at most ${DEPTH_MAX} levels`);
      return;
    }
    this.#containers += 1;
    if (this.#containers > CONTAINERS_MAX)
      this.#rules.fail('payload.properties', `expected at most ${CONTAINERS_MAX} objects and arrays`);
    // Object.keys of an array are its indexes.
    for (const name of Object.keys(value)) {
      if (name.includes('.')) this.#dotted = true;
      this.add(`${key}.${name}`, (value as Readonly<Record<string, unknown>>)[name], depth + 1);
      if (this.#rules.problem !== '') return;
    }
  }

  #addLeaf(key: string, value: unknown): void {
    const text = typeof value === 'string' ? value : String(value);
    const rules = this.#rules;
    if (key.length > KEY_MAX) rules.fail(whereOf(key), `expected a key of at most ${KEY_MAX} characters`);
    else if (this.#flat.length >= 2 * KEYS_MAX)
      rules.fail('payload.properties', `expected at most ${KEYS_MAX} keys`);
    else if (typeof value === 'number' && !Number.isFinite(value))
      rules.fail(whereOf(key), 'expected a finite number');
    else if (isLong(text)) rules.fail(whereOf(key), `expected at most ${VALUE_MAX_BYTES} bytes`);
    else if (!rules.isWhole(key) || !rules.isWhole(text))
      rules.fail(whereOf(key), 'expected text without NUL or lone surrogates');
    else this.#flat.push(key, text);
  }

  #text(key: string, value: unknown): string {
    // The usual case needs no description of the place.
    if (typeof value === 'string' && this.#rules.isWhole(value)) return value;
    return this.#rules.optional(value, whereOf(key), PAGE_TEXT_MAX);
  }

  #instant(key: string, value: unknown): number | undefined {
    if (value === undefined || value === null) return undefined;
    const ms = parseInstant(value);
    if (ms === undefined)
      this.#rules.fail(
        whereOf(key),
        'expected an ISO 8601 time, epoch milliseconds or epoch seconds, from 1970 to 2200',
      );
    return ms;
  }
}

/** A character takes one to three bytes. */
function isLong(text: string): boolean {
  if (text.length * 3 <= VALUE_MAX_BYTES) return false;
  return text.length > VALUE_MAX_BYTES || Buffer.byteLength(text) > VALUE_MAX_BYTES;
}

/** Keys are cut and cleaned for messages, so that an answer stays short and printable. */
function whereOf(key: string): string {
  const shown = key.length > 100 ? `${key.slice(0, 100)}…` : key;
  return `payload.properties.${shown.replace(/[\p{Cc}\p{Cs}]/gu, '\ufffd')}`;
}
