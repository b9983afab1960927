import { connect } from 'nats';
import { expect, test } from 'vitest';
import { startNatsServer } from './nats-server.ts';

test('an acknowledged message survives SIGKILL of the server', async () => {
  const server = await startNatsServer();
  try {
    const before = await connect({ servers: server.url });
    const manager = await before.jetstreamManager();
    await manager.streams.add({ name: 'stored', subjects: ['stored.>'] });
    const ack = await before.jetstream().publish('stored.one', 'first');
    const killedPid = server.pid;
    await server.kill();
    await before.close();

    await server.restart();
    const after = await connect({ servers: server.url });
    const stream = await (await after.jetstreamManager()).streams.getMessage('stored', { seq: ack.seq });
    expect(stream.string()).toBe('first');
    expect(server.pid).not.toBe(killedPid);
    await after.close();
  } finally {
    await server.stop();
  }
});

test('a frozen server can be stopped', async () => {
  const server = await startNatsServer();
  const { pid } = server;
  await server.pause();
  await server.stop();
  expect(() => process.kill(pid, 0)).toThrow();
});
