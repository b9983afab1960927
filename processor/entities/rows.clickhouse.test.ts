import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { Store } from '../../infra/store/store.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type StoreServer, startStoreServer } from '../../infra/testing/store-server.ts';
import { anyText, FIRST_MS } from '../entities/testing/updates.ts';
import type { EntityDocument } from './document.ts';
import { GROUP_COLUMNS, GROUP_SELECT, type GroupDocument, groupOf, writeGroupRow } from './group.ts';
import { ORDER_COLUMNS, ORDER_SELECT, type OrderDocument, orderOf, writeOrderRow } from './order.ts';
import {
  PROFILE_COLUMNS,
  PROFILE_SELECT,
  type ProfileDocument,
  profileOf,
  writeProfileRow,
} from './profile.ts';
import { TALLY_COLUMNS, TALLY_SELECT, type TallyDocument, tallyOf, writeTallyRow } from './tally.ts';

const BYTES_MAX = 16_777_216;
const RUN = storedId('run');

let server: StoreServer;
let store: Store;
const folder = mkdtempSync(join(tmpdir(), 'footfall-records-'));

beforeAll(async () => {
  server = await startStoreServer({ dataDir: folder });
  store = new Store({ url: server.url, database: 'records_test', requestTimeoutMs: 30_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
});

afterAll(async () => {
  await store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Functions to write and read entities of one kind. */
interface Table<Document> {
  readonly name: string;
  readonly columns: readonly string[];
  readonly select: string;
  readonly write: (writer: RowBinaryWriter, document: Document) => void;
  readonly read: (row: unknown) => Document;
}

const PROFILES: Table<ProfileDocument> = {
  name: 'profiles',
  columns: PROFILE_COLUMNS,
  select: PROFILE_SELECT,
  write: writeProfileRow,
  read: profileOf,
};
const GROUPS: Table<GroupDocument> = {
  name: 'groups',
  columns: GROUP_COLUMNS,
  select: GROUP_SELECT,
  write: writeGroupRow,
  read: groupOf,
};
const ORDERS: Table<OrderDocument> = {
  name: 'orders',
  columns: ORDER_COLUMNS,
  select: ORDER_SELECT,
  write: writeOrderRow,
  read: orderOf,
};
const TALLIES: Table<TallyDocument> = {
  name: 'tallies',
  columns: TALLY_COLUMNS,
  select: TALLY_SELECT,
  write: writeTallyRow,
  read: tallyOf,
};

async function insert<Document>(table: Table<Document>, documents: readonly Document[]): Promise<void> {
  const writer = new RowBinaryWriter(BYTES_MAX);
  for (const document of documents) table.write(writer, document);
  await store.insertRowBinary(table.name, table.columns, [writer.bytes()], undefined);
}

/** The last state of the entities of a site, read as the processor reads them. */
async function select<Document>(table: Table<Document>, projectId: StoredId): Promise<Document[]> {
  const rows = await store.query(
    `SELECT ${table.select} FROM ${table.name} WHERE projectId = {projectId:String}
     ORDER BY version DESC LIMIT 1 BY projectId, id`,
    { projectId },
  );
  return rows.map(table.read);
}

const head = {
  projectId: fc.constant(RUN),
  version: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  updateIds: fc.array(anyText, { maxLength: 4 }),
  createdAtMs: fc.integer({ min: 0, max: FIRST_MS }),
  updatedAtMs: fc.integer({ min: 0, max: FIRST_MS }),
};
const properties = fc
  .uniqueArray(fc.tuple(anyText, anyText), { maxLength: 8, selector: ([key]) => key })
  .map((pairs) => pairs.flat());
const amount = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** Documents with ids of their own, some of them extreme. */
function documents<Document extends EntityDocument>(arbitrary: fc.Arbitrary<Omit<Document, 'id'>>) {
  const lists = fc.array(arbitrary, { minLength: 60, maxLength: 100 });
  return lists.map((list) =>
    list.map((document, index) => ({ ...document, id: `größe ${index}` }) as Document),
  );
}

const profiles = documents<ProfileDocument>(
  fc.record({
    kind: fc.constant('profile' as const),
    ...head,
    firstName: anyText,
    lastName: anyText,
    email: anyText,
    avatar: anyText,
    properties,
    groups: fc.array(anyText, { maxLength: 5 }),
    devices: fc.array(anyText, { maxLength: 3 }),
  }),
);
const groups = documents<GroupDocument>(
  fc.record({
    kind: fc.constant('group' as const),
    ...head,
    type: anyText,
    name: anyText,
    properties,
    devices: fc.array(anyText, { maxLength: 3 }),
  }),
);
const orders = documents<OrderDocument>(
  fc.record({
    kind: fc.constant('order' as const),
    ...head,
    currency: fc.constantFrom('', 'EUR', 'JPY'),
    amount,
    refunded: amount,
    hasOrder: fc.boolean(),
    waiting: fc.array(
      fc.record({
        amount: fc.constantFrom('', '5.5'),
        minorUnits: fc.constantFrom('', '9007199254740991'),
        currency: fc.constantFrom('', 'EUR'),
        partition: fc.nat({ max: 65_535 }),
        event: fc.uint8Array({ maxLength: 40 }),
      }),
      { maxLength: 3 },
    ),
    answered: fc.option(fc.record({ deviceId: anyText, sessionId: fc.constantFrom('', 'ab'.repeat(16)) }), {
      nil: undefined,
    }),
  }),
);
const tallies = documents<TallyDocument>(
  fc.record({
    kind: fc.constant('tally' as const),
    ...head,
    hourMs: fc.nat({ max: 1_000_000 }).map((hour) => hour * HOUR_MS),
    reason: anyText,
    name: anyText,
    count: fc.maxSafeNat(),
  }),
);

describe('what is written is read back the same', () => {
  test('profiles', () => holdsFor(PROFILES, profiles));
  test('groups', () => holdsFor(GROUPS, groups));
  test('orders', () => holdsFor(ORDERS, orders));
  test('tallies', () => holdsFor(TALLIES, tallies));

  async function holdsFor<Document extends EntityDocument>(
    table: Table<Document>,
    lists: fc.Arbitrary<readonly Document[]>,
  ): Promise<void> {
    await fc.assert(
      fc.asyncProperty(lists, async (written) => {
        await store.command(`TRUNCATE TABLE ${table.name}`);
        await insert(table, written);
        const read = await select(table, RUN);
        expect(new Map(read.map((document) => [document.id, document]))).toEqual(
          new Map(written.map((document) => [document.id, document])),
        );
      }),
      { numRuns: 5 },
    );
  }
});

test.each([
  ['profiles', PROFILE_COLUMNS],
  ['groups', GROUP_COLUMNS],
  ['orders', ORDER_COLUMNS],
  ['tallies', TALLY_COLUMNS],
])('the columns of %s are those that are written, in their order', async (table, columns) => {
  const stored = await store.query<{ name: string }>(
    `SELECT name FROM system.columns WHERE database = 'records_test' AND table = {table:String} AND default_kind != 'MATERIALIZED' ORDER BY position`,
    { table },
  );
  expect(stored.map(({ name }) => name)).toEqual(columns);
});

test('the highest version is read, before and after the store merges, in whatever order they were written', async () => {
  const states = [3n, 2n ** 60n, 2n ** 60n + 1n, 7n].map(
    (version): GroupDocument => ({
      kind: 'group',
      projectId: storedId('merge'),
      id: 'one',
      version,
      updateIds: [],
      createdAtMs: FIRST_MS,
      updatedAtMs: FIRST_MS,
      type: 'company',
      name: `as of ${version}`,
      properties: [],
      devices: [],
    }),
  );
  for (const state of states) await insert(GROUPS, [state]);
  expect(await select(GROUPS, storedId('merge'))).toEqual([states[2]]);
  await store.command('OPTIMIZE TABLE groups FINAL');
  expect(await store.query(`SELECT name FROM groups WHERE projectId = 'merge'`)).toEqual([
    { name: states[2]?.name },
  ]);
});

test('the largest profile and the largest order fit the store', async () => {
  const wide = (length: number, size: number) =>
    Array.from({ length }, (_, index) => `${index}`.padEnd(size / 3, '日').slice(0, size / 3));
  const profile: ProfileDocument = {
    kind: 'profile',
    projectId: storedId('large'),
    id: 'one',
    version: 1n,
    updateIds: wide(64, 192),
    createdAtMs: FIRST_MS,
    updatedAtMs: FIRST_MS,
    firstName: '',
    lastName: '',
    email: '',
    avatar: '',
    properties: wide(512, 600).flatMap((key) => [key, 'x'.repeat(4096)]),
    groups: wide(1000, 768),
    devices: wide(20, 96),
  };
  const event = new Uint8Array(262_144).fill(7);
  const waiting = Array.from({ length: 4 }, () => ({
    amount: '',
    minorUnits: '',
    currency: '',
    partition: 1,
    event,
  }));
  const order: OrderDocument = {
    kind: 'order',
    projectId: storedId('large'),
    id: 'one',
    version: 1n,
    updateIds: wide(1000, 192),
    createdAtMs: FIRST_MS,
    updatedAtMs: FIRST_MS,
    currency: '',
    amount: 0n,
    refunded: 0n,
    hasOrder: false,
    waiting,
    answered: { deviceId: 'd'.repeat(64), sessionId: 'ab'.repeat(16) },
  };
  await insert(PROFILES, [profile]);
  await insert(ORDERS, [order]);
  expect(await select(PROFILES, storedId('large'))).toEqual([profile]);
  const [read] = await select(ORDERS, storedId('large'));
  // Bytes as texts: a megabyte compares faster that way.
  const comparable = ({ waiting, ...rest }: OrderDocument) => ({
    ...rest,
    waiting: waiting.map((refund) => ({ ...refund, event: Buffer.from(refund.event).toString('base64') })),
  });
  expect(read && comparable(read)).toEqual(comparable(order));
});
