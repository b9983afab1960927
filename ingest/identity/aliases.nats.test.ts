import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { Aliases } from './aliases.ts';

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

async function until(what: string, holds: () => boolean): Promise<void> {
  const endMs = Date.now() + WAIT_MAX_MS;
  while (!holds()) {
    if (Date.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('an alias is known at once where it was stored, soon on every node, and after a restart', async () => {
  const here = await Aliases.open(bus, log);
  const there = await Aliases.open(bus, log);
  const alias = 'anon/ü 1';
  expect(here.resolve('demo', alias)).toBe(alias);
  expect(await here.put({ projectId: 'demo', alias, profileId: 'ada' })).toBe('stored');
  expect(here.resolve('demo', alias)).toBe('ada');
  await until('the other node', () => there.resolve('demo', alias) === 'ada');
  const later = await Aliases.open(bus, log);
  expect(later.resolve('demo', alias)).toBe('ada');
  expect(later.resolve('shop', alias)).toBe(alias);
  expect(later.resolve('demo', '')).toBe('');
  for (const aliases of [here, there, later]) aliases.stop();
});

test('a chain of aliases resolves to its last name, and a circle is rejected', async () => {
  const aliases = await Aliases.open(bus, log);
  expect(await aliases.put({ projectId: 'chain', alias: 'a', profileId: 'b' })).toBe('stored');
  expect(await aliases.put({ projectId: 'chain', alias: 'b', profileId: 'c' })).toBe('stored');
  expect(aliases.resolve('chain', 'a')).toBe('c');
  expect(await aliases.put({ projectId: 'chain', alias: 'c', profileId: 'a' })).toBe('circle');
  expect(await aliases.put({ projectId: 'chain', alias: 'a', profileId: 'd' })).toBe('stored');
  expect(aliases.resolve('chain', 'a')).toBe('d');
  aliases.stop();
});

test('a circle that two nodes close at once is resolved without an endless loop', async () => {
  const here = await Aliases.open(bus, log);
  const there = await Aliases.open(bus, log);
  await Promise.all([
    here.put({ projectId: 'ring', alias: 'a', profileId: 'b' }),
    there.put({ projectId: 'ring', alias: 'b', profileId: 'a' }),
  ]);
  await until('both aliases', () => here.resolve('ring', 'b') === 'a' && there.resolve('ring', 'b') === 'a');
  expect(here.resolve('ring', 'a')).toBe('a');
  expect(there.resolve('ring', 'a')).toBe('a');
  expect(here.resolve('ring', 'c')).toBe('c');
  here.stop();
  there.stop();
});

test('two nodes that store the same alias agree in the end', async () => {
  const here = await Aliases.open(bus, log);
  const there = await Aliases.open(bus, log);
  await Promise.all([
    here.put({ projectId: 'same', alias: 'a', profileId: 'one' }),
    there.put({ projectId: 'same', alias: 'a', profileId: 'two' }),
  ]);
  await until('agreement', () => here.resolve('same', 'a') === there.resolve('same', 'a'));
  here.stop();
  there.stop();
});

test('many requests for one alias at once are all stored, and the last one counts on every node', async () => {
  const nodes = await Promise.all([Aliases.open(bus, log), Aliases.open(bus, log)]);
  const puts = Array.from({ length: 24 }, (_, index) =>
    nodes[index % 2]?.put({ projectId: 'rush', alias: 'anon', profileId: `p${index % 12}` }),
  );
  expect(await Promise.all(puts)).toEqual(puts.map(() => 'stored'));
  await until('agreement', () => nodes[0]?.resolve('rush', 'anon') === nodes[1]?.resolve('rush', 'anon'));
  expect(nodes[0]?.resolve('rush', 'anon')).toMatch(/^p\d+$/);
  for (const aliases of nodes) aliases.stop();
});
