import { connect } from 'nats';
import { expect, test } from 'vitest';
import { startNatsServer } from './nats-server.ts';

test('a message that was acknowledged is there after the server was killed and started again', async () => {
  const server = await startNatsServer();
  try {
    const before = await connect({ servers: server.url });
    const manager = await before.jetstreamManager();
    await manager.streams.add({ name: 'kept', subjects: ['kept.>'] });
    const ack = await before.jetstream().publish('kept.one', 'first');
    const killedPid = server.pid;
    await server.kill();
    await before.close();

    await server.restart();
    const after = await connect({ servers: server.url });
    const stream = await (await after.jetstreamManager()).streams.getMessage('kept', { seq: ack.seq });
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
  server.pause();
  await server.stop();
  expect(() => process.kill(pid, 0)).toThrow();
});
