import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../../../infra/config.ts';
import { ObjectStore } from '../../../../infra/object-store/object-store.ts';
import { type Fault, type FaultProxy, startFaultProxy } from '../../../../infra/testing/fault-proxy.ts';
import { S3_KEY, S3_REGION, type S3Server, startS3 } from '../../../../infra/testing/s3-server.ts';
import { BackupBucket } from './backup-bucket.ts';
import { BackupFolder } from './backup-folder.ts';
import { type BackupPlace, bytesOf, digestOf, removeOthers } from './backup-place.ts';
import { withPlace } from './place-address.ts';

const BUCKET = 'backups';
const PART_BYTES = 1_000;
const EVENTS = 'events/2026-11-01.parquet';
const NEVER = { firstMs: 1, maxMs: 1 };

const scratch = mkdtempSync(join(tmpdir(), 'footfall-place-'));
const notes: string[] = [];
const opened: ObjectStore[] = [];
let s3: S3Server;
let proxy: FaultProxy;
let places = 0;

beforeAll(async () => {
  s3 = await startS3({ buckets: [BUCKET] });
  proxy = await startFaultProxy(s3.endpoint);
});
afterEach(() => {
  for (const store of opened.splice(0)) store.close();
  notes.length = 0;
});
afterAll(async () => {
  await Promise.all([proxy.stop(), s3.stop()]);
  rmSync(scratch, { recursive: true, force: true });
});

function openStore(): ObjectStore {
  const access = { endpoint: proxy.endpoint, region: S3_REGION, bucket: BUCKET, pathStyle: true, ...S3_KEY };
  const store = new ObjectStore({ access, mayConnect: () => true, timeoutMs: 10_000 });
  opened.push(store);
  return store;
}

function newBucket(): { place: BackupBucket; store: ObjectStore; prefix: string } {
  places += 1;
  const [store, prefix] = [openStore(), `of/${places}`];
  const writeNote = (note: string) => notes.push(note);
  const options = { store, bucket: BUCKET, prefix, writeNote, backoff: NEVER, partBytes: PART_BYTES };
  return { place: new BackupBucket(options), store, prefix };
}

function newFolder(): BackupFolder {
  places += 1;
  return new BackupFolder(join(scratch, String(places)));
}

/** The bytes in pieces of other lengths than parts have. */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += 333) yield bytes.subarray(from, from + 333);
}

/** The same, with an error in front of the last piece. */
function* brokenPieces(bytes: Buffer): Generator<Buffer> {
  yield* piecesOf(bytes);
  throw new Error('the store went away');
}

const KINDS: readonly [kind: string, open: () => BackupPlace][] = [
  ['folder', newFolder],
  ['bucket', () => newBucket().place],
];

describe.each(KINDS)('a %s', (kind, open) => {
  test.each([0, 1, 999, 1_000, 1_001, 2_000, 5_432])(
    'has a file of %i bytes as it was written',
    async (size) => {
      const place = open();
      const bytes = randomBytes(size);
      await place.removeUnfinished();
      const written = await place.write(EVENTS, piecesOf(bytes));
      expect(written.bytes).toBe(size);
      if (size > 0) expect(await digestOf(place, EVENTS)).toEqual(written);
      if (size > 0) expect(await bytesOf(place, EVENTS)).toEqual(bytes);
      expect([...(await place.sizes())]).toEqual([[EVENTS, size]]);
      if (size > 10) expect(Buffer.from(await place.slice(EVENTS, 7, 10))).toEqual(bytes.subarray(7, 10));
    },
  );

  test('names what is in it, and is empty at first', async () => {
    const place = open();
    expect([await place.names(), [...(await place.sizes())]]).toEqual([[], []]);
    for (const file of ['manifest.json', 'orders/all.parquet', EVENTS, 'events/2026-11-02.parquet'])
      await place.write(file, [Buffer.from(file)]);
    expect(await place.names()).toEqual(['events', 'manifest.json', 'orders']);
    expect([...(await place.sizes()).keys()].sort()).toEqual([
      EVENTS,
      'events/2026-11-02.parquet',
      'manifest.json',
      'orders/all.parquet',
    ]);
    expect([place.kind, await bytesOf(place, 'control.json')]).toEqual([kind, undefined]);
    await expect(digestOf(place, 'control.json')).rejects.toThrow(`${place.shown}/control.json is missing`);
  });

  test('has nothing of a file whose writing fails, and the one before', async () => {
    const place = open();
    await expect(place.write(EVENTS, brokenPieces(randomBytes(4_500)))).rejects.toThrow(
      'the store went away',
    );
    expect([...(await place.sizes())]).toEqual([]);
    await place.write(EVENTS, [Buffer.from('before')]);
    await expect(place.write(EVENTS, brokenPieces(randomBytes(4_500)))).rejects.toThrow(
      'the store went away',
    );
    expect(await bytesOf(place, EVENTS)).toEqual(Buffer.from('before'));
    expect((await place.sizes()).size).toBe(1);
    expect(await s3.openUploads()).toEqual([]);
  });

  test('loses files of a backup that are not kept, and no others', async () => {
    const place = open();
    const others = ['photo.jpg', 'events/notes.txt', 'photos/all.parquet'];
    const ours = ['unfinished.json', 'control.json', EVENTS, 'profiles/all-1-of-2.parquet'];
    for (const file of [...others, ...ours]) await place.write(file, [Buffer.from(file)]);
    await removeOthers(place, new Set(['control.json']));
    expect([...(await place.sizes()).keys()].sort()).toEqual(['control.json', ...others].sort());
  });
});

test('a folder that is a file is refused', async () => {
  const path = join(scratch, 'file');
  writeFileSync(path, '');
  await expect(new BackupFolder(path).names()).rejects.toThrow('is a file; choose a folder');
});

test('a folder has whole files only, for its owner alone', async () => {
  const place = newFolder();
  mkdirSync(place.shown, { mode: 0o777 });
  const pieces = function* () {
    yield Buffer.from('a');
    expect(readdirSync(join(place.shown, 'events'))).toEqual(['2026-11-01.parquet.part']);
    yield Buffer.from('b');
  };
  await place.write(EVENTS, pieces());
  expect(readdirSync(join(place.shown, 'events'))).toEqual(['2026-11-01.parquet']);
  await place.write('control.json', [Buffer.from('{}')]);
  const modes = ['.', 'events', EVENTS, 'control.json'].map(
    (path) => statSync(join(place.shown, path)).mode & 0o777,
  );
  expect(modes).toEqual([0o700, 0o700, 0o600, 0o600]);
});

test('a folder loses what interrupted writes have left, and no other file', async () => {
  const place = newFolder();
  mkdirSync(join(place.shown, 'events'), { recursive: true });
  for (const file of [`${EVENTS}.part`, 'control.json.part', 'film.part', 'events/film.part'])
    writeFileSync(join(place.shown, file), 'half');
  expect((await place.sizes()).size).toBe(0);
  await place.removeUnfinished();
  expect(readdirSync(place.shown, { recursive: true }).sort()).toEqual([
    'events',
    'events/film.part',
    'film.part',
  ]);
});

describe('a bucket', () => {
  const PASSING: readonly Fault[] = [
    { kind: 'answer', status: 503, code: 'SlowDown' },
    { kind: 'answer', status: 500, code: 'InternalError' },
    { kind: 'drop' },
    { kind: 'lose' },
    { kind: 'cut' },
  ];

  test.each(PASSING)('that fails every other request by %j gets and gives all', async (fault) => {
    const { place, prefix } = newBucket();
    let count = 0;
    const end = proxy.fail({
      when: () => {
        count += 1;
        return count % 2 === 1;
      },
      fault,
    });
    try {
      const bytes = randomBytes(3_500);
      await place.write(EVENTS, piecesOf(bytes));
      await place.write('manifest.json', [Buffer.from('{}')]);
      expect(await bytesOf(place, EVENTS)).toEqual(bytes);
      expect([...(await place.sizes()).values()].sort()).toEqual([2, 3_500]);
      await place.remove('manifest.json');
      await place.removeUnfinished();
    } finally {
      end();
    }
    const ours = [...(await s3.objects()).keys()].filter((key) => key.startsWith(prefix));
    expect(ours).toEqual([`${prefix}/${EVENTS}`]);
    expect(await s3.openUploads()).toEqual([]);
    expect(notes.every((note) => note.endsWith(': trying again'))).toBe(true);
    expect(notes.length).toBeGreaterThan(5);
  });

  test('that stays away is an error after some tries, and has nothing', async () => {
    const { place, prefix } = newBucket();
    let parts = 0;
    const isPart = (url: string) => url.includes('partNumber=');
    const end = proxy.fail({
      when: ({ url }) => {
        if (isPart(url)) parts += 1;
        return isPart(url) && parts > 2;
      },
      fault: { kind: 'answer', status: 503 },
    });
    await expect(place.write(EVENTS, piecesOf(randomBytes(9_000)))).rejects.toMatchObject({
      failure: 'slow',
    });
    end();
    expect(parts).toBe(2 + 7);
    expect(notes).toHaveLength(1);
    expect([...(await s3.objects()).keys()].filter((key) => key.startsWith(prefix))).toEqual([]);
    expect(await s3.openUploads()).toEqual([]);
  });

  test('that denies a request is an error at once', async () => {
    const { place } = newBucket();
    const before = proxy.log.length;
    const end = proxy.fail({ fault: { kind: 'answer', status: 403, code: 'AccessDenied' } });
    await expect(place.write('manifest.json', [Buffer.from('{}')])).rejects.toMatchObject({
      failure: 'denied',
    });
    await expect(place.sizes()).rejects.toMatchObject({ failure: 'denied' });
    // A permission that is missing for the removal of parts may not be needed.
    await place.removeUnfinished();
    end();
    expect(proxy.log.length - before).toBe(3);
    expect(notes).toEqual([expect.stringContaining('parts of interrupted writes may be left in the bucket')]);
  });

  test('loses the parts of interrupted writes, and those of no other program', async () => {
    const { place, store, prefix } = newBucket();
    const keys = [`${prefix}/${EVENTS}`, `${prefix}/video.mp4`, `${prefix}-other/${EVENTS}`];
    const uploads = [];
    for (const key of keys) {
      const upload = await store.beginUpload(key, { contentType: 'text/plain' });
      await store.putPart(upload, 1, Buffer.from('half'));
      uploads.push(upload);
    }
    expect(await place.names()).toEqual([]);
    await place.removeUnfinished();
    expect(await s3.openUploads()).toEqual(keys.slice(1).sort());
    for (const upload of uploads) await store.abortUpload(upload);
  });

  test('takes no more than two parts at a time from what is written', async () => {
    const { place } = newBucket();
    const [bytes, before] = [randomBytes(20_000), proxy.log.length];
    const sentBytes = () =>
      PART_BYTES *
      proxy.log.slice(before).filter(({ url, status }) => url.includes('partNumber=') && status === 200)
        .length;
    let taken = 0;
    const ahead: number[] = [];
    const pieces = async function* () {
      for (const piece of piecesOf(bytes)) {
        ahead.push(taken - sentBytes());
        taken += piece.length;
        yield piece;
      }
    };
    await place.write(EVENTS, pieces());
    expect(Math.max(...ahead)).toBeLessThanOrEqual(2 * PART_BYTES + 333);
    expect(sentBytes()).toBe(20_000);
  });

  test('is empty where a program shows it as a folder', async () => {
    const { place, store, prefix } = newBucket();
    await store.put(`${prefix}/`, Buffer.of(), { contentType: 'text/plain' });
    expect((await s3.objects()).has(`${prefix}/`)).toBe(true);
    expect(await place.names()).toEqual([]);
  });

  test('is read in pieces, of which a reader that stops gets no more', async () => {
    const { place } = newBucket();
    await place.write(EVENTS, piecesOf(randomBytes(9_500)));
    const before = proxy.log.length;
    for await (const piece of place.read(EVENTS)) {
      expect(piece.length).toBe(PART_BYTES);
      break;
    }
    await expect.poll(() => proxy.log.slice(before).map(({ status }) => status)).toEqual([206, 206]);
  });
});

describe('the argument of a command', () => {
  const keys = { AWS_ACCESS_KEY_ID: 'id-of-a-key', AWS_SECRET_ACCESS_KEY: 'secret-of-a-key' };
  const shownAs = (argument: string, env: Readonly<Record<string, string>> = keys) =>
    withPlace(
      argument,
      readConfig(env),
      () => {},
      async ({ kind, shown }) => [kind, shown],
    );

  test.each([
    ['s3://backups/of/today', 's3://backups/of/today'],
    ['s3://backups/of/today/', 's3://backups/of/today'],
    ['s3://backups/', 's3://backups'],
    ['s3://backups', 's3://backups'],
  ])('%s is a bucket', async (argument, shown) => {
    expect(await shownAs(argument)).toEqual(['bucket', shown]);
  });

  test('that is a path is a folder', async () => {
    expect(await shownAs(join(scratch, 'new/'))).toEqual(['folder', join(scratch, 'new')]);
    expect(existsSync(join(scratch, 'new'))).toBe(false);
  });

  const wrong: [argument: string, env: Readonly<Record<string, string>>, text: string][] = [
    ['s3://', keys, 'expected a bucket such as s3://bucket/prefix'],
    ['s3:///prefix', keys, 'expected a bucket such as s3://bucket/prefix'],
    ['s3://bucket/a/../b', keys, 'expected a bucket such as s3://bucket/prefix'],
    ['s3://buck et/a', keys, 'the bucket name is not valid'],
    ['s3://bucket', {}, 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'],
    [
      's3://bucket',
      { ...keys, AWS_SECRET_ACCESS_KEY: '' },
      'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    ],
    ['s3://bucket', { ...keys, AWS_REGION: 'Europe' }, 'the region is not valid'],
    [
      's3://bucket',
      { ...keys, AWS_ENDPOINT_URL: 'minio:9000' },
      'the endpoint does not begin with http:// or https://',
    ],
  ];
  test.each(wrong)('%s with %j is refused', async (argument, env, text) => {
    const error = await shownAs(argument, env).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(text);
    expect(String(error)).not.toContain(keys.AWS_SECRET_ACCESS_KEY);
  });
});
