import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { ALIASES_BUCKET, type Alias, aliasKeyOf, decodeAlias } from '../entity-update.ts';
import { Aliases, type AliasLimits } from './aliases.ts';

const log = createLogger('aliases-test', 'silent');
const WAIT_MAX_MS = 10_000;
let nats: NatsServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'aliases-test' }, log);
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
});

/** The team `two` has the sites `two-1` and `two-2`; every other site is in the team `one`. */
const open = (limits?: AliasLimits) =>
  Aliases.open(bus, log, {
    sitesOf: (teamId) => (teamId === 'two' ? [storedId('two-1'), storedId('two-2')] : []),
    ...(limits === undefined ? {} : { limits }),
  });

const made = (names: Pick<Alias, 'projectId' | 'alias' | 'profileId'>, verified = true): Alias => ({
  ...names,
  verified,
  createdAt: '2026-01-05T09:00:00.000Z',
});

async function until(what: string, holds: () => boolean): Promise<void> {
  const endMs = Date.now() + WAIT_MAX_MS;
  while (!holds()) {
    if (Date.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('an alias is known at once where it was stored, soon on every node, and after a restart', async () => {
  const here = await open();
  const there = await open();
  const alias = 'anon/ü 1';
  expect(here.resolve(storedId('demo'), alias)).toBe(alias);
  expect(await here.put(made({ projectId: storedId('demo'), alias, profileId: 'ada' }), 'one')).toBe(
    'stored',
  );
  expect(here.resolve(storedId('demo'), alias)).toBe('ada');
  await until('the other node', () => there.resolve(storedId('demo'), alias) === 'ada');
  const later = await open();
  expect(later.resolve(storedId('demo'), alias)).toBe('ada');
  expect(later.resolve(storedId('shop'), alias)).toBe(alias);
  expect(later.resolve(storedId('demo'), '')).toBe('');
  for (const aliases of [here, there, later]) aliases.stop();
});

test('a chain of aliases resolves to its last name, and a circle is rejected', async () => {
  const aliases = await open();
  expect(await aliases.put(made({ projectId: storedId('chain'), alias: 'a', profileId: 'b' }), 'one')).toBe(
    'stored',
  );
  expect(await aliases.put(made({ projectId: storedId('chain'), alias: 'b', profileId: 'c' }), 'one')).toBe(
    'stored',
  );
  expect(aliases.resolve(storedId('chain'), 'a')).toBe('c');
  expect(await aliases.put(made({ projectId: storedId('chain'), alias: 'c', profileId: 'a' }), 'one')).toBe(
    'circle',
  );
  expect(await aliases.put(made({ projectId: storedId('chain'), alias: 'a', profileId: 'd' }), 'one')).toBe(
    'stored',
  );
  expect(aliases.resolve(storedId('chain'), 'a')).toBe('d');
  aliases.stop();
});

test('a circle that two nodes close at once is resolved without an endless loop', async () => {
  const here = await open();
  const there = await open();
  await Promise.all([
    here.put(made({ projectId: storedId('ring'), alias: 'a', profileId: 'b' }), 'one'),
    there.put(made({ projectId: storedId('ring'), alias: 'b', profileId: 'a' }), 'one'),
  ]);
  await until(
    'both aliases',
    () => here.resolve(storedId('ring'), 'b') === 'a' && there.resolve(storedId('ring'), 'b') === 'a',
  );
  expect(here.resolve(storedId('ring'), 'a')).toBe('a');
  expect(there.resolve(storedId('ring'), 'a')).toBe('a');
  expect(here.resolve(storedId('ring'), 'c')).toBe('c');
  here.stop();
  there.stop();
});

test('two nodes that store the same alias agree in the end', async () => {
  const here = await open();
  const there = await open();
  await Promise.all([
    here.put(made({ projectId: storedId('same'), alias: 'a', profileId: 'one' }), 'one'),
    there.put(made({ projectId: storedId('same'), alias: 'a', profileId: 'two' }), 'one'),
  ]);
  await until(
    'agreement',
    () => here.resolve(storedId('same'), 'a') === there.resolve(storedId('same'), 'a'),
  );
  here.stop();
  there.stop();
});

test('many requests for one alias at once are all stored, and the last one counts on every node', async () => {
  const nodes = await Promise.all([open(), open()]);
  for (let round = 0; round < 30; round += 1) {
    const alias = `anon-${round}`;
    const puts = Array.from({ length: 24 }, (_, index) =>
      nodes[index % 2]?.put(made({ projectId: storedId('rush'), alias, profileId: `p${index % 12}` }), 'one'),
    );
    expect(await Promise.all(puts)).toEqual(puts.map(() => 'stored'));
    await until(
      'agreement',
      () => nodes[0]?.resolve(storedId('rush'), alias) === nodes[1]?.resolve(storedId('rush'), alias),
    );
    expect(nodes[0]?.resolve(storedId('rush'), alias)).toMatch(/^p\d+$/);
  }
  for (const aliases of nodes) aliases.stop();
});

test('without a secret an alias that was made with one is not changed, and with one it becomes verified', async () => {
  const aliases = await open();
  const names = { projectId: storedId('trust'), alias: 'anon', profileId: 'ada' };
  const stored = async () => {
    const value = await (await bus.keyed(ALIASES_BUCKET)).get(aliasKeyOf(names));
    return decodeAlias(value?.bytes ?? new Uint8Array());
  };
  expect(await aliases.put(made(names, false), 'one')).toBe('stored');
  expect(await stored()).toMatchObject({ profileId: 'ada', verified: false });
  expect(await aliases.put(made({ ...names, profileId: 'eve' }, false), 'one')).toBe('stored');
  expect(await aliases.put(made(names), 'one')).toBe('stored');
  expect(await stored()).toMatchObject({ profileId: 'ada', verified: true });
  expect(await aliases.put(made({ ...names, profileId: 'eve' }, false), 'one')).toBe('verified');
  expect(await aliases.put(made(names, false), 'one')).toBe('stored');
  expect(await stored()).toEqual(made(names));
  expect(aliases.resolve(storedId('trust'), 'anon')).toBe('ada');
  aliases.stop();
});

describe('a limit', () => {
  const roomy = {
    countMax: 1e9,
    countMaxPerTeam: 1e9,
    countMaxPerSite: 1e9,
    bytesMax: 1e9,
    bytesMaxPerTeam: 1e9,
    bytesMaxPerSite: 1e9,
  };
  const put = (
    aliases: Aliases,
    projectId: StoredId,
    alias: string,
    { profileId = 'p', team = 'one' } = {},
  ) => aliases.put(made({ projectId, alias, profileId }), team);

  test('of a site is exact, also for many requests at once, and leaves other sites alone', async () => {
    const aliases = await open({ ...roomy, countMaxPerSite: 5 });
    const names = Array.from({ length: 40 }, (_, index) => `a${index}`);
    const results = await Promise.all(names.map((name) => put(aliases, storedId('small'), name)));
    expect(results.filter((result) => result === 'stored')).toHaveLength(5);
    expect(results.filter((result) => result === 'full')).toHaveLength(35);
    expect(await put(aliases, storedId('neighbour'), 'a')).toBe('stored');
    const first = names[results.indexOf('stored')] ?? '';
    expect(await put(aliases, storedId('small'), first, { profileId: 'q' })).toBe('stored');
    aliases.stop();
    // A node that reads them counts the same, and an undone alias makes room.
    const later = await open({ ...roomy, countMaxPerSite: 5 });
    expect(await put(later, storedId('small'), 'another')).toBe('full');
    await (await bus.keyed(ALIASES_BUCKET)).remove(
      aliasKeyOf({ projectId: storedId('small'), alias: first }),
    );
    await until('the room', () => later.resolve(storedId('small'), first) === first);
    expect(await put(later, storedId('small'), 'another')).toBe('stored');
    expect(await put(later, storedId('small'), 'one more')).toBe('full');
    later.stop();
  });

  test('in bytes counts keys and profile ids, also of an alias that gets a longer one', async () => {
    const aliases = await open({ ...roomy, bytesMaxPerSite: 600 });
    expect(await put(aliases, storedId('bytes'), 'a', { profileId: 'x'.repeat(250) })).toBe('stored');
    expect(await put(aliases, storedId('bytes'), 'b', { profileId: 'x'.repeat(250) })).toBe('stored');
    expect(await put(aliases, storedId('bytes'), 'c', { profileId: 'x'.repeat(250) })).toBe('full');
    expect(await put(aliases, storedId('bytes'), 'c', { profileId: 'x' })).toBe('stored');
    expect(await put(aliases, storedId('bytes'), 'c', { profileId: 'x'.repeat(250) })).toBe('full');
    expect(await put(aliases, storedId('bytes'), 'a', { profileId: 'y' })).toBe('stored');
    expect(await put(aliases, storedId('bytes'), 'c', { profileId: 'x'.repeat(250) })).toBe('stored');
    aliases.stop();
  });

  test('of a team counts all of its sites, and other teams go on', async () => {
    const aliases = await open({ ...roomy, countMaxPerTeam: 3 });
    const two = { team: 'two' };
    expect(await put(aliases, storedId('two-1'), 'a', two)).toBe('stored');
    expect(await put(aliases, storedId('two-2'), 'a', two)).toBe('stored');
    expect(await put(aliases, storedId('two-1'), 'b', two)).toBe('stored');
    expect(await put(aliases, storedId('two-2'), 'b', two)).toBe('full');
    expect(await put(aliases, storedId('two-1'), 'a', { ...two, profileId: 'q' })).toBe('stored');
    expect(await put(aliases, storedId('elsewhere'), 'a')).toBe('stored');
    aliases.stop();
  });

  test('in bytes of a team counts all of its sites, and other teams go on', async () => {
    const aliases = await open({ ...roomy, bytesMaxPerTeam: 900 });
    const long = { team: 'two', profileId: 'x'.repeat(400) };
    expect(await put(aliases, storedId('two-1'), 'large', long)).toBe('stored');
    expect(await put(aliases, storedId('two-2'), 'large', long)).toBe('stored');
    expect(await put(aliases, storedId('two-1'), 'larger', long)).toBe('full');
    expect(await put(aliases, storedId('two-2'), 'larger', long)).toBe('full');
    expect(await put(aliases, storedId('elsewhere'), 'larger', { profileId: 'x'.repeat(400) })).toBe(
      'stored',
    );
    aliases.stop();
  });

  test.each([{ countMax: 1 }, { bytesMax: 100 }])('of all aliases is the last resort: %j', async (limit) => {
    const aliases = await open({ ...roomy, ...limit });
    expect(await put(aliases, storedId('anywhere'), 'a', { profileId: 'x'.repeat(100) })).toBe('full');
    aliases.stop();
  });
});
