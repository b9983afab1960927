import type { Store } from '../../../infra/store/store.ts';

/** The names, orders and texts of the person; no mutation may contain any of them. */
export const PERSON = 'Ada Lovelace';
export const PERSON_TEXTS: readonly string[] = [PERSON, 'ada@old.example', 'ada-paid-42', 'group of Ada'];
export const OTHER = 'another person';
/** Documents of others with the version and the times of the person's own. */
const NEIGHBOURS = 300;
/** Years before now, so that nothing of it is live. */
const START = "toDateTime64('2026-03-01 00:00:00', 3, 'UTC')";

interface PersonRows {
  readonly site: string;
  /** Number of the person's events: half of them in visits of ten events, the others outside of visits. */
  readonly events: number;
}

/**
 * Stores a person's data, in the first flush of lane 0, between similar rows of others: events of visits and outside of them, a visit that
 * became another's, documents with the same version and times, and an order that was answered.
 */
export async function insertPersonRows(store: Store, { site, events }: PersonRows): Promise<void> {
  const parameters = { site, person: PERSON, other: OTHER, events, half: events / 2 };
  const event = `partition, flushNumber, id, sessionId, projectId, profileId, orderId, name, createdAt, receivedAt, title`;
  for (const [profileId, count, first] of [
    [PERSON, events, 0],
    [OTHER, 40, events],
  ] as const)
    await store.command(
      `INSERT INTO events (${event})
       SELECT 0, 1, MD5(concat({site:String}, '-event-', toString(number))),
         if(number - {first:UInt32} < {half:UInt32}, MD5(concat({site:String}, {profileId:String}, toString(intDiv(number, 10)))), toFixedString('', 16)),
         {site:String}, {profileId:String}, if(number = 0, 'ada-paid-42', ''), 'screen_view',
         ${START} + toIntervalSecond(number) AS createdAt, createdAt, concat('of ', {profileId:String})
       FROM numbers({first:UInt32}, {count:UInt32})`,
      { ...parameters, profileId, count, first, half: Math.min(count, events) / 2 },
    );
  await store.command(
    `INSERT INTO sessions (sign, version, partition, flushNumber, projectId, id, profileId, startedAt, endedAt, touchedAt, screenViews, mixed)
     SELECT 1, 1, 0, 1, {site:String}, sessionId, any(profileId), min(createdAt), max(createdAt), max(createdAt), count(), 1
     FROM events WHERE projectId = {site:String} AND sessionId != toFixedString('', 16) GROUP BY sessionId`,
    parameters,
  );
  // The person's event in a visit that is another's in the end.
  await store.command(
    `INSERT INTO events (${event}) SELECT 0, 1, MD5(concat({site:String}, '-shared-', toString(number))), MD5(concat({site:String}, 'shared')),
       {site:String}, if(number = 0, {person:String}, {other:String}), '', 'screen_view', ${START} + toIntervalSecond(number) AS createdAt, createdAt, ''
     FROM numbers(2)`,
    parameters,
  );
  await store.command(
    `INSERT INTO sessions (sign, version, partition, flushNumber, projectId, id, profileId, startedAt, endedAt, touchedAt, screenViews, mixed)
     SELECT tupleElement(state, 1), tupleElement(state, 2), 0, 1, {site:String}, MD5(concat({site:String}, 'shared')),
       if(tupleElement(state, 2) = 1, {person:String}, {other:String}), ${START}, ${START}, ${START}, tupleElement(state, 2), 1
     FROM (SELECT arrayJoin([(1, 1), (-1, 1), (1, 2)]) AS state)`,
    parameters,
  );
  await store.command(
    `INSERT INTO profiles (projectId, id, email, groups, createdAt, updatedAt, version)
     SELECT {site:String}, if(number = 0, {person:String}, concat('p', toString(number))), 'ada@old.example', ['group of Ada'], ${START}, ${START}, 7
     FROM numbers(${NEIGHBOURS})`,
    parameters,
  );
  await store.command(
    `INSERT INTO orders (projectId, id, amount, hasOrder, answered, createdAt, updatedAt, version)
     SELECT {site:String}, if(number = 0, 'ada-paid-42', concat('o', toString(number))), 5, true, ['phone', 'visit'], ${START}, ${START}, 9
     FROM numbers(${NEIGHBOURS})`,
    parameters,
  );
}

/** Rows of a site that are not the person's, as one sum for each table. */
export async function rowsOfOthers(store: Store, site: string): Promise<readonly unknown[]> {
  const parameters = { site, person: PERSON };
  const tables = [
    ['events', 'profileId != {person:String}'],
    ['sessions', "profileId != {person:String} AND profileId != ''"],
    ['profiles', 'id != {person:String}'],
    ['orders', "id != 'ada-paid-42'"],
  ];
  return Promise.all(
    tables.map(async ([table, others]) => {
      const [row] = await store.query<object>(
        `SELECT count() AS rows, toString(sum(cityHash64(*))) AS sum FROM ${table} WHERE projectId = {site:String} AND ${others}`,
        parameters,
      );
      return { table, ...row };
    }),
  );
}

/** Rows of a site that name the person, by table. */
export async function rowsOfPerson(store: Store, site: string): Promise<Readonly<Record<string, number>>> {
  const named = {
    events: 'profileId = {person:String}',
    sessions: 'profileId = {person:String}',
    profiles: 'id = {person:String}',
    orders: "id = 'ada-paid-42' AND notEmpty(answered)",
  };
  const counts = Object.entries(named).map(async ([table, condition]) => {
    const [row] = await store.query<{ rows: number }>(
      `SELECT count() AS rows FROM ${table} WHERE projectId = {site:String} AND ${condition}`,
      { site, person: PERSON },
    );
    return [table, row?.rows ?? 0] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}
