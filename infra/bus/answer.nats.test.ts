import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';
import { DecodeError } from './decode-error.ts';

const SUBJECT = 'questions.3';
const metrics = new Metrics();

let nats: NatsServer;
let bus: Bus;
let asking: Bus;
let stop: () => void;
/** The process would end with any of these. */
const unhandled: unknown[] = [];
const noteUnhandled = (error: unknown) => unhandled.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', noteUnhandled);
  nats = await startNatsServer();
  const log = createLogger('test', 'silent');
  bus = await Bus.connect({ url: nats.url, name: 'answering', metrics }, log);
  asking = await Bus.connect({ url: nats.url, name: 'asking' }, log);
  stop = bus.answer(SUBJECT, {
    reply: (bytes) => replies[Buffer.from(bytes).toString()]?.(),
    unavailable: (why) => Buffer.from(`unavailable: ${why}`),
  });
  // The server reads one connection in order: once this is answered, it knows of the subscription, and serves it to any connection.
  await bus.ask(SUBJECT, Buffer.from('good'), 5_000);
});
afterEach(() => expect(unhandled).toEqual([]));
afterAll(async () => {
  process.off('unhandledRejection', noteUnhandled);
  stop();
  await asking.close();
  await bus.close();
  await nats.stop();
});

const replies: Readonly<Record<string, () => Promise<Uint8Array> | Uint8Array>> = {
  good: () => Buffer.from('answer'),
  malformed: () => {
    throw new DecodeError('cut off');
  },
  version: async () => {
    throw new DecodeError('version 99', 'version');
  },
  throws: () => {
    throw new RangeError('beyond the end');
  },
  rejects: async () => {
    throw new Error('the store is away');
  },
  'too large': () => new Uint8Array(bus.messageMaxBytes + 1),
};

const ask = async (question: string) =>
  Buffer.from(await asking.ask(SUBJECT, Buffer.from(question), 5_000)).toString();
const counted = (reason: string) =>
  metrics.counter('footfall_bus_bad_requests_total', '', { subject_kind: 'questions', reason }).value;

test.each([
  ['malformed', 'malformed'],
  ['version', 'version'],
  ['throws', 'failed'],
  ['rejects', 'failed'],
  ['too large', 'failed'],
])(
  'a request whose reply fails (%s) is counted and answered, and so is the next one',
  async (question, reason) => {
    const before = counted(reason);
    expect(await ask(question)).toBe(`unavailable: ${reason}`);
    expect(counted(reason)).toBe(before + 1);
    expect(await ask('good')).toBe('answer');
  },
);

test('a reply that has no answer now is answered as unavailable and counts as no failure', async () => {
  const before = ['malformed', 'version', 'failed'].map(counted);
  expect(await ask('unknown')).toBe('unavailable: away');
  expect(['malformed', 'version', 'failed'].map(counted)).toEqual(before);
});

test('counters of a subject are there before anything goes wrong', () => {
  const quiet = bus.answer('quiet.0', { reply: () => undefined, unavailable: () => Buffer.of() });
  expect(metrics.expose()).toContain(
    'footfall_bus_bad_requests_total{subject_kind="quiet",reason="malformed"} 0',
  );
  quiet();
});
