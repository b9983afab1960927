import { majorUnits } from '../../infra/money.ts';
import type { DeviceId, ProfileId } from '../../ingest/event.ts';
import type { ExportGroup } from '../../processor/event-export.ts';
import type { ExportedWith, VisitText } from '../../processor/fields.ts';
import type { ExportedEvent, ExportedProfile } from '../api.ts';
import { unknownProfile } from './profiles.ts';

const NO_ID = '0'.repeat(32);

/** The texts of a visit: some in every row, the others if they are included. */
type VisitTexts = Readonly<Record<ExportedWith<undefined>, string>> &
  Readonly<Partial<Record<Exclude<VisitText, ExportedWith<undefined>>, string>>>;

/** One row of `event-list.sql`; the columns after `currency` are present if they are included. */
export interface ExportRow extends VisitTexts {
  readonly id: string;
  readonly name: string;
  readonly deviceId: DeviceId;
  readonly profileId: ProfileId;
  readonly sessionId: string;
  readonly createdAt: number;
  readonly path: string;
  readonly origin: string;
  readonly title: string;
  readonly groups: readonly string[];
  readonly receivedAt: number;
  readonly revenue: string;
  readonly currency: string;
  readonly eventId?: string;
  readonly query?: string;
  readonly hash?: string;
  readonly properties?: Readonly<Record<string, string>>;
  readonly longitude?: number;
  readonly latitude?: number;
  readonly orderId?: string;
  readonly sdkName?: string;
  readonly sdkVersion?: string;
}

/** Returns an event of the site `projectId` in its API form. `profiles`: the profiles of its page, if included. */
export function exportedEventOf(
  row: ExportRow,
  projectId: string,
  includes: ReadonlySet<ExportGroup>,
  profiles: ReadonlyMap<string, ExportedProfile> = new Map(),
): ExportedEvent {
  const { receivedAt, revenue, currency, eventId, query, hash, longitude, latitude, orderId, ...rest } = row;
  return {
    ...rest,
    id: idText(row.id),
    sessionId: idText(row.sessionId),
    projectId,
    createdAt: new Date(row.createdAt).toISOString(),
    groups: [...row.groups],
    ...(includes.has('profile') ? { profile: profileIn(profiles, row.profileId) } : {}),
    ...(includes.has('meta') ? { meta: metaOf(row) } : {}),
    ...(includes.has('geo') ? placeOf(longitude ?? 0, latitude ?? 0) : {}),
    ...(includes.has('revenue') ? amountOf(row) : {}),
  };
}

function profileIn(profiles: ReadonlyMap<string, ExportedProfile>, id: string): ExportedProfile | null {
  return id === '' ? null : (profiles.get(id) ?? unknownProfile(id));
}

function metaOf({ eventId = '', receivedAt, query = '', hash = '' }: ExportRow) {
  return { eventId, receivedAt: new Date(receivedAt).toISOString(), query, hash };
}

/** Unknown coordinates are stored as 0, 0, a point in the ocean. */
function placeOf(longitude: number, latitude: number) {
  return longitude === 0 && latitude === 0 ? { longitude: null, latitude: null } : { longitude, latitude };
}

function amountOf({ revenue, currency, orderId = '' }: ExportRow) {
  const amount = currency === '' ? null : majorUnits(BigInt(revenue), currency);
  return { revenue: amount, currency, orderId };
}

function idText(digits: string): string {
  return digits === NO_ID ? '' : digits;
}
