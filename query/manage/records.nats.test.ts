import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Entry, encodeJson, followBucket, Mirror } from '../../infra/bus/mirror.ts';
import { createLogger } from '../../infra/log.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { RejectError } from '../reject.ts';
import { ControlRecords } from './records.ts';

const log = createLogger('test', 'silent');
const schema = z.object({ steps: z.array(z.string()) });
type Steps = z.output<typeof schema>;

let nats: NatsServer;
let bus: Bus;
let bucket: KeyedBytes;
let records: ControlRecords;
let stop: () => void;
const followed = new Mirror<Steps>('steps.', schema);
let keys = 0;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'test' }, log);
  bucket = await bus.keyed('test');
  records = new ControlRecords(bucket);
  stop = await followBucket(bucket, [followed], log);
});
afterAll(async () => {
  stop();
  await bus.close();
  await nats.stop();
});

const missing = () => new RejectError('unknown-record', 'there is none');
const tagOf = ({ revision }: Entry<Steps>) => `"${revision}"`;
const step =
  (name: string) =>
  ({ steps }: Steps): Steps => ({ steps: [...steps, name] });

async function made(): Promise<Entry<Steps>> {
  keys += 1;
  return must(await records.create(followed, `steps.${keys}`, { steps: [] }), 'the key was taken');
}

function change(entry: Entry<Steps>, name: string, ifMatch = ''): Promise<Entry<Steps>> {
  return records.change(followed, entry.key, ifMatch, { change: step(name), missing });
}

/** A mirror that knows one entry and receives no updates. */
function leftBehind({ key, value, revision }: Entry<Steps>): Mirror<Steps> {
  const mirror = new Mirror<Steps>('steps.', schema);
  mirror.take({ key, bytes: encodeJson(value), revision });
  return mirror;
}

test('the mirror has a record when its write resolves', async () => {
  const entry = await made();
  expect(followed.entry(entry.key)).toEqual(entry);
  const next = await change(entry, 'a');
  expect(followed.entry(entry.key)).toEqual(next);
  expect(next.revision).toBeGreaterThan(entry.revision);
  await records.remove(followed, entry.key, '', missing);
  expect(followed.entry(entry.key)).toBeUndefined();
});

test('a removed record is shown as it was before, with what ends when it is removed', async () => {
  const entry = await made();
  const shown = (value: Steps) => ({ ...value, isFollowed: followed.entry(entry.key) !== undefined });
  const { value } = await change(entry, 'a');
  const removed = await records.removeShown(followed, entry.key, { ifMatch: '', missing }, shown);
  expect(removed).toEqual({ ...value, isFollowed: true });
  expect(followed.entry(entry.key)).toBeUndefined();
});

test('a key can be created once', async () => {
  const entry = await made();
  expect(await records.create(followed, entry.key, { steps: ['second'] })).toBeUndefined();
  await records.remove(followed, entry.key, '', missing);
  expect(await records.create(followed, entry.key, { steps: ['again'] })).toMatchObject({
    value: { steps: ['again'] },
  });
});

test('a record is replaced only if it is unchanged', async () => {
  const entry = await made();
  await change(entry, 'a');
  expect(await records.replace(followed, entry, { steps: ['mine'] })).toBeUndefined();
  expect(followed.get(entry.key)).toEqual({ steps: ['a'] });
  const current = must(followed.entry(entry.key), 'it is there');
  expect(await records.replace(followed, current, { steps: ['mine'] })).toMatchObject({
    value: { steps: ['mine'] },
  });
});

test('a second change is applied to the result of the first', async () => {
  const entry = await made();
  const behind = leftBehind(entry);
  await change(entry, 'first');
  const seen: Steps[] = [];
  const second = await records.change(behind, entry.key, '', {
    change: (current) => {
      seen.push(current);
      return step('second')(current);
    },
    missing,
  });
  expect(seen).toEqual([{ steps: [] }, { steps: ['first'] }]);
  expect(second.value).toEqual({ steps: ['first', 'second'] });
});

test('no concurrent change is lost, up to the number of attempts', async () => {
  const entry = await made();
  const names = Array.from({ length: 20 }, (_, index) => String(index));
  await Promise.all(names.map((name) => change(entry, name)));
  expect(followed.get(entry.key)?.steps.toSorted()).toEqual(names.toSorted());
});

test('an error thrown by `change` leaves the record unchanged', async () => {
  const entry = await made();
  const reject = new RejectError('invalid', 'no');
  const rejected = records.change(followed, entry.key, '', {
    change: () => {
      throw reject;
    },
    missing,
  });
  await expect(rejected).rejects.toBe(reject);
  expect((await bucket.get(entry.key))?.revision).toBe(entry.revision);
});

test('a record that does not exist, or no longer exists, is missing', async () => {
  const entry = await made();
  const behind = leftBehind(entry);
  await records.remove(followed, entry.key, '', missing);
  const reason = { reason: 'unknown-record' };
  await expect(change(entry, 'a')).rejects.toMatchObject(reason);
  await expect(records.change(behind, entry.key, '', { change: step('a'), missing })).rejects.toMatchObject(
    reason,
  );
  await expect(records.remove(behind, entry.key, '', missing)).rejects.toMatchObject(reason);
  await expect(records.remove(followed, 'steps.none', '', missing)).rejects.toMatchObject(reason);
});

test('one of several changes with the same If-Match is applied', async () => {
  const entry = await made();
  const names = Array.from({ length: 10 }, (_, index) => String(index));
  const changes = await Promise.allSettled(names.map((name) => change(entry, name, tagOf(entry))));
  const lost = changes.filter(({ status }) => status === 'rejected');
  expect(lost).toHaveLength(9);
  for (const outcome of lost) expect(outcome).toMatchObject({ reason: { reason: 'changed' } });
  expect(followed.get(entry.key)?.steps).toHaveLength(1);
});

test.each([
  ['the tag', (tag: string) => tag, undefined],
  ['one of a list', (tag: string) => `"0", ${tag}`, undefined],
  ['whatever there is', () => '*', undefined],
  ['another tag', () => '"0"', 'changed'],
  ['a weak tag', (tag: string) => `W/${tag}`, 'changed'],
  ['no tag', () => '7', 'invalid'],
  ['half a tag', () => '"7', 'invalid'],
])('if-match with %s', async (_name, header, reason) => {
  const entry = await made();
  const changed = change(entry, 'a', header(tagOf(entry)));
  if (reason === undefined) await expect(changed).resolves.toMatchObject({ value: { steps: ['a'] } });
  else await expect(changed).rejects.toMatchObject({ reason });
});

test('an ETag of another process is accepted before the mirror has received the change', async () => {
  const entry = await made();
  const behind = leftBehind(entry);
  const next = await change(entry, 'elsewhere');
  const changed = await records.change(behind, entry.key, tagOf(next), { change: step('here'), missing });
  expect(changed.value).toEqual({ steps: ['elsewhere', 'here'] });
  const removed = await records.remove(leftBehind(entry), entry.key, tagOf(changed), missing);
  expect(removed).toEqual({ steps: ['elsewhere', 'here'] });
});
