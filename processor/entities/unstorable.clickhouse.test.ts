import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { StoreError } from '../../infra/store/store-error.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { BY_SECRET, type EntityUpdate } from '../../ingest/entity-update.ts';
import { lettersOn } from '../testing/dead-letters.ts';
import { answering, type LaneWorld, type RunningLane, startLaneWorld } from '../testing/lane-world.ts';
import { insertEntities } from './entity-store.ts';
import { applyProfile } from './profile.ts';
import { UpdateSender } from './testing/update-sender.ts';
import { step as updateOf } from './testing/updates.ts';
import { UnstorableError } from './unstorable.ts';

const LANE = 0;
let world: LaneWorld;

beforeAll(async () => {
  world = await startLaneWorld('unstorable_test');
  await world.open(LANE);
});
afterEach(() => world.stopLanes());
afterAll(() => world.stop());

const step = (id: string): EntityUpdate => ({
  kind: 'step',
  ...{ projectId: storedId('demo'), id, atMs: Date.UTC(2026, 0, 1), updateId: '' },
  authority: BY_SECRET,
  property: 'visits',
  step: '1',
});

async function start(): Promise<RunningLane> {
  const lane = await world.start({
    ...{ lane: LANE, instance: 'one', isAlone: true },
    refusesRows: (rows) => rows.includes('refused'),
  });
  await answering(lane);
  return lane;
}

async function storedVisits(id: string): Promise<string | undefined> {
  const rows = await world.store.query<{ visits: string }>(
    "SELECT properties['visits'] AS visits FROM profiles WHERE id = {id:String} ORDER BY version DESC LIMIT 1",
    { id },
  );
  return rows[0]?.visits;
}

const isStored = (id: string, visits: string) =>
  until(`${visits} visits of ${id}`, async () => ((await storedVisits(id)) === visits ? true : undefined));

test('an update that cannot be read becomes a dead letter; those of other senders in its message apply', async () => {
  const lane = await start();
  const broken = { ...step('never'), step: 'no number' } as EntityUpdate;
  await new UpdateSender(world.bus, LANE, 21n).send([step('beside-1'), broken, step('beside-2')]);
  await isStored('beside-1', '1');
  await isStored('beside-2', '1');
  const [letter, ...others] = await lettersOn(world.bus);
  expect(others).toEqual([]);
  expect(letter).toMatchObject({ stream: 'records', partition: LANE });
  expect(letter?.reason).toContain('step');
  const text = Buffer.from(letter?.bytes ?? []).toString('latin1');
  expect([text.includes('"never"'), text.includes('beside')]).toEqual([true, false]);
  const { setAside, deadLetters, failures } = lane.entityMetrics;
  expect([setAside.value, deadLetters.value, failures.value]).toEqual([1, 0, 0]);
});

test('an entity that the store refuses is left out with its updates since the last flush, and all others are stored', async () => {
  const lane = await start();
  const before = (await lettersOn(world.bus)).length;
  const sender = new UpdateSender(world.bus, LANE, 22n);
  const names = Array.from({ length: 20 }, (_, index) => `other-${index}`);
  await sender.send([step('refused'), ...names.map((name) => step(name))]);
  for (const name of names) await isStored(name, '1');
  await sender.send([step('other-0')]);
  await isStored('other-0', '2');
  const added = (await lettersOn(world.bus)).slice(before);
  expect(added.map(({ reason }) => reason)).toEqual(['StoreError: the store refuses it']);
  expect(await storedVisits('refused')).toBeUndefined();
  expect(lane.entityMetrics.failures.value).toBe(0);
});

test('a document that cannot be encoded is named, and the others are stored', async () => {
  const documentOf = (id: string, version: bigint) =>
    applyProfile(undefined, updateOf({ id }), version).document;
  const documents = [
    documentOf('good-1', 1n),
    documentOf('bad', 2n ** 70n),
    documentOf('good-2', 1n),
  ].flatMap((document) => document ?? []);
  const error = await insertEntities(world.store, documents).catch((failed: unknown) => failed);
  expect(error).toBeInstanceOf(UnstorableError);
  expect((error as UnstorableError).documents.map(({ document }) => document.id)).toEqual(['bad']);
  const rows = await world.store.query<{ id: string }>(
    "SELECT id FROM profiles WHERE id IN ('good-1', 'bad', 'good-2') ORDER BY id",
  );
  expect(rows.map(({ id }) => id)).toEqual(['good-1', 'good-2']);
});

test('a table that takes nothing is no fault of its entities', async () => {
  const documents = ['one', 'two'].flatMap(
    (id) => applyProfile(undefined, updateOf({ id }), 2n ** 70n).document ?? [],
  );
  await expect(insertEntities(world.store, documents)).rejects.toThrow('profiles takes no rows');
});

test('what only the connection refuses is retried, and nothing is set aside', async () => {
  const error = new StoreError('no connection', { kind: 'retryable', failure: 'unreachable' });
  const document = applyProfile(undefined, updateOf({ id: 'later' }), 1n).document;
  const store = new Proxy(world.store, { get: () => async () => Promise.reject(error) });
  await expect(insertEntities(store, document === undefined ? [] : [document])).rejects.toBe(error);
});
