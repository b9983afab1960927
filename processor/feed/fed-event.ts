import type { SiteId } from '../../infra/accounts/ids.ts';
import { majorUnits } from '../../infra/money.ts';
import type { DeviceId, ProfileId } from '../../ingest/event.ts';
import type { VisitText } from '../fields.ts';
import type { RowReader } from './row-reader.ts';

/**
 * CONTRACT with the programs that follow a site's feed: an event as one line of JSON. It is a row of `GET
 * /export/events` with all `includes`, plus `sequence` and `shortened`. Fields are added, never renamed or removed.
 * Unknown texts are empty; times are ISO 8601 in UTC with milliseconds.
 */
export interface FedEvent extends Readonly<Record<VisitText, string>> {
  /** 32 hexadecimal digits; no two events share one. */
  readonly id: string;
  /**
   * Lane, flush of that lane, place among the site's events of that flush, from 0. Rises within a lane,
   * compared number by number; flushes without an event of the site are missing.
   */
  readonly sequence: readonly [lane: number, flushNumber: number, index: number];
  readonly name: string;
  readonly deviceId: DeviceId;
  readonly profileId: ProfileId;
  /** 32 hexadecimal digits; empty for an event of no session. */
  readonly sessionId: string;
  /** The site's project id. */
  readonly projectId: SiteId;
  /** When it happened. */
  readonly createdAt: string;
  readonly path: string;
  readonly origin: string;
  readonly title: string;
  /** Ids of groups. */
  readonly groups: readonly string[];
  /** Texts by dotted keys. */
  readonly properties: Readonly<Record<string, string>>;
  /** Null for an event without a known profile. */
  readonly profile: { readonly id: string } | null;
  /** The sender's id of the event, when it was received, and the rest of the address. */
  readonly meta: {
    readonly eventId: string;
    readonly receivedAt: string;
    readonly query: string;
    readonly hash: string;
  };
  /** Degrees; null where the location is unknown. */
  readonly longitude: number | null;
  readonly latitude: number | null;
  /** Major units of `currency`, negative for a refund; null for an event without. */
  readonly revenue: number | null;
  /** ISO 4217. */
  readonly currency: string;
  readonly orderId: string;
  readonly sdkName: string;
  readonly sdkVersion: string;
  /** Present, and true, where the event was too long for a message: it lacks its properties. The export has them. */
  readonly shortened?: true;
}

const NO_ID = '0'.repeat(32);

/**
 * Reads the row at the reader's offset: every column, in the order of `EVENTS_COLUMNS`. `projectId` is the site's
 * public id.
 */
export function readEvent(
  row: RowReader,
  { projectId, index }: { readonly projectId: SiteId; readonly index: number },
): FedEvent {
  const lane = row.u16();
  const flushNumber = row.u32();
  const id = row.id();
  const session = row.id();
  row.text(); // The id that the site is stored under.
  const deviceId = row.text();
  const profileId = row.text();
  const eventId = row.text();
  const minorUnits = row.i64();
  const currency = row.text();
  const orderId = row.text();
  const name = row.text();
  const createdAt = timeText(row.timeMs());
  const receivedAt = timeText(row.timeMs());
  const page = { origin: row.text(), path: row.text() };
  const rest = { query: row.text(), hash: row.text() };
  const title = row.text();
  const source = {
    referrer: row.text(),
    referrerName: row.text(),
    referrerType: row.text(),
    utmSource: row.text(),
    utmMedium: row.text(),
    utmCampaign: row.text(),
    utmTerm: row.text(),
    utmContent: row.text(),
    channel: row.text(),
  };
  const place = { country: row.text(), region: row.text(), city: row.text() };
  const coordinates = coordinatesOf(row.f32(), row.f32());
  const machine = {
    browser: row.text(),
    browserVersion: row.text(),
    os: row.text(),
    osVersion: row.text(),
    device: row.text(),
    brand: row.text(),
    model: row.text(),
  };
  const locale = { language: row.text(), timezone: row.text(), screen: row.text() };
  return {
    id,
    sequence: [lane, flushNumber, index],
    name,
    deviceId,
    profileId,
    sessionId: session === NO_ID ? '' : session,
    projectId,
    createdAt,
    ...page,
    title,
    ...place,
    ...coordinates,
    ...machine,
    ...locale,
    groups: row.texts(),
    properties: Object.fromEntries(row.pairs()),
    profile: profileId === '' ? null : { id: profileId },
    meta: { eventId, receivedAt, ...rest },
    ...source,
    revenue: currency === '' ? null : majorUnits(minorUnits, currency),
    currency,
    orderId,
    sdkName: row.text(),
    sdkVersion: row.text(),
  };
}

/** An event that is too long for a message, without its properties. */
export function shortenedEvent(event: FedEvent): FedEvent {
  return { ...event, properties: {}, shortened: true };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** The store has no "unknown" for coordinates; 0, 0 lies in the ocean. */
function coordinatesOf(longitude: number, latitude: number) {
  if (longitude === 0 && latitude === 0) return { longitude: null, latitude: null };
  return { longitude: shortestDecimal(longitude), latitude: shortestDecimal(latitude) };
}

/** The fewest digits that represent the same single-precision number, as the store writes it: 13.41, not 13.40999984741211. */
function shortestDecimal(single: number): number {
  for (let digits = 6; digits < 9; digits += 1) {
    const decimal = Number(single.toPrecision(digits));
    if (Math.fround(decimal) === single) return decimal;
  }
  return Number(single.toPrecision(9));
}
