import { isDeepStrictEqual } from 'node:util';
import type { Asker } from './asker.ts';
import type { KnownEntity } from './filters.ts';
import { type GoldenSite, SENDERS, SITES } from './fixtures.ts';
import { modelOf, type SiteModel } from './model.ts';
import type { WholeEvent } from './rows.ts';
import type { Sent } from './visits.ts';

/** The exported data of a site: the model built from it, and its events in their order. */
export interface Reading {
  readonly model: SiteModel;
  /** Without synthetic events. */
  readonly sent: number;
  /** Ids of events that were exported twice, or out of order. */
  readonly misplaced: readonly string[];
  /** Events of apps and imports without session, or with another device than they were sent with. */
  readonly misread: readonly string[];
  /** True if a page has a hash. */
  readonly hashed: boolean;
}

/** Known profiles and groups, by site; read again only where the traffic changed them. */
export type EntityBook = Map<
  string,
  { readonly profiles: Map<string, KnownEntity>; readonly groups: Map<string, KnownEntity> }
>;

/** Exports every site; entities come from the book. */
export async function readSites(asker: Asker, book: EntityBook): Promise<ReadonlyMap<string, Reading>> {
  const read = async (site: GoldenSite): Promise<[string, Reading]> => {
    const events = await asker.events(site.id);
    const model = modelOf(site, events, recordsIn(book, site.id), Date.now());
    const misplaced = events.filter(({ createdAt, id }, index) => {
      const before = events[index - 1];
      if (before === undefined) return false;
      return before.createdAt < createdAt || (before.createdAt === createdAt && before.id >= id);
    });
    const sent = model.rows.filter(({ isSynthetic }) => !isSynthetic).length;
    const misread = events.filter(isMisread).map(({ id, deviceId }) => `${deviceId} ${id}`);
    const hashed = events.some(({ path }) => path.includes('#'));
    return [site.id, { model, sent, misplaced: misplaced.map(({ id }) => id), misread, hashed }];
  };
  return new Map(await Promise.all(SITES.map(read)));
}

/** True if an event differs from its sender in the fixtures, which its device id names. */
function isMisread(event: WholeEvent): boolean {
  const sender = SENDERS[Number(/-sender(\d)-/.exec(event.deviceId)?.[1])];
  if (sender === undefined) return false;
  const { os, osVersion, device, brand, model, browser } = event;
  return (
    event.sessionId === '' ||
    !isDeepStrictEqual({ os, osVersion, device, brand, model, browser }, sender.stored)
  );
}

/** Reads the entities that the sent traffic changed. */
export async function noteRecords(asker: Asker, book: EntityBook, sent: readonly Sent[]): Promise<void> {
  const changed = new Map(sent.flatMap((each) => recordNamedBy(each)));
  await Promise.all(
    [...changed.values()].map(async ({ site, kind, id }) => {
      const record = await asker.record(site, kind, id);
      if (record !== undefined) recordsIn(book, site)[kind].set(id, record);
    }),
  );
}

function recordsIn(book: EntityBook, site: string) {
  const records = book.get(site) ?? {
    profiles: new Map<string, KnownEntity>(),
    groups: new Map<string, KnownEntity>(),
  };
  book.set(site, records);
  return records;
}

interface Named {
  readonly site: string;
  readonly kind: 'profiles' | 'groups';
  readonly id: string;
}

function recordNamedBy({ site, body }: Sent): [string, Named][] {
  if (body.type === 'track') return [];
  const named = { profileId: undefined, id: undefined, ...body.payload };
  const kind = body.type === 'group' ? 'groups' : 'profiles';
  const id = String(kind === 'groups' ? named.id : named.profileId);
  return [[`${site} ${kind} ${id}`, { site, kind, id }]];
}
