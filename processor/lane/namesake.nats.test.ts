import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { NamesakeError, takeName } from './namesake.ts';

const PROCESSES = 5;

let nats: NatsServer;
const buses: Bus[] = [];

beforeAll(async () => {
  nats = await startNatsServer();
  for (let index = 0; index < PROCESSES; index += 1)
    buses.push(await Bus.connect({ url: nats.url, name: `p${index}` }, createLogger('test', 'silent')));
});
afterAll(async () => {
  for (const bus of buses) await bus.close();
  await nats.stop();
});

const take = (index: number, name: string) => takeName(buses[index] as Bus, name, 300);

test('who starts while a namesake runs is refused, and told where it runs', async () => {
  const release = await take(0, 'one');
  await expect(take(1, 'one')).rejects.toThrow(NamesakeError);
  await expect(take(1, 'one')).rejects.toThrow(
    new RegExp(`^INSTANCE: another processor named one runs on this bus \\(process ${process.pid} of `),
  );
  const other = await take(1, 'two');
  // A name is free again once its process has ended.
  release();
  const again = await take(2, 'one');
  again();
  other();
});

test('of several that start at once exactly one gets the name', async () => {
  for (let round = 0; round < 5; round += 1) {
    const taken = await Promise.allSettled(buses.map((_, index) => take(index, `round-${round}`)));
    const releases = taken.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(releases).toHaveLength(1);
    for (const result of taken)
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(NamesakeError);
    releases[0]?.();
  }
});

test('what is no claim is ignored', async () => {
  const taking = take(0, 'noisy');
  buses[1]?.broadcast('namesake.noisy', Buffer.from('{"token":"!"}'));
  buses[1]?.broadcast('namesake.noisy', Buffer.from([0xff]));
  (await taking)();
});
