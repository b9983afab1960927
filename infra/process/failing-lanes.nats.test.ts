import { expect, test } from 'vitest';
import { Bus } from '../bus/bus.ts';
import { createLogger } from '../log.ts';
import { startNatsServer } from '../testing/nats-server.ts';
import { encodeFailingLane, FailingLanes, PROCESSORS_SUBJECT } from './failing-lanes.ts';

test('a lane fails as long as its processor says so, and what else processors say changes nothing', async () => {
  const nats = await startNatsServer();
  const bus = await Bus.connect({ url: nats.url, name: 'failing-lanes' }, createLogger('test', 'silent'));
  let nowMs = 0;
  const failing = new FailingLanes(bus, () => nowMs);
  for (const text of [
    '{"version":1,"kind":"runs","instance":"a","owned":1}',
    'garbage',
    '{"version":2,"kind":"fails","lane":3}',
  ])
    bus.broadcast(PROCESSORS_SUBJECT, Buffer.from(text));
  for (const lane of [2, 0, 2]) bus.broadcast(PROCESSORS_SUBJECT, encodeFailingLane(lane));
  await expect.poll(() => failing.lanes).toEqual([0, 2]);
  nowMs = 4_000;
  bus.broadcast(PROCESSORS_SUBJECT, encodeFailingLane(2));
  await expect
    .poll(() => {
      nowMs = 5_001;
      return failing.lanes;
    })
    .toEqual([2]);
  nowMs = 10_002;
  expect(failing.lanes).toEqual([]);
  failing.stop();
  await bus.close();
  await nats.stop();
});
