import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readBackup, writeBackup } from './backup-file.ts';
import type { ControlEntry } from './control-plane.ts';

const AT = '2026-01-02T03:04:05.678Z';
let folder = '';
let path = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-backup-'));
  path = join(folder, 'backup.json');
});

beforeEach(() => rmSync(path, { force: true }));
afterAll(() => rmSync(folder, { recursive: true }));

function entry(key: string, value: string | Uint8Array): ControlEntry {
  return { bucket: 'control', key, bytes: Buffer.from(value) };
}

/** Plain data, with all bytes as one type. */
function plain(entries: readonly ControlEntry[]) {
  return entries.map(({ bucket, key, bytes }) => [bucket, key, Buffer.from(bytes).toString('base64')]);
}

const values = fc.oneof(
  fc.json().map((text) => Buffer.from(text)),
  fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom(
      '',
      'null',
      ' {}',
      '{"a":1,"a":2}',
      '{"2":1,"1":2}',
      '-0',
      '1.0',
      '"\\u00e9"',
      '{"__proto__":1}',
    )
    .map((text) => Buffer.from(text)),
);

test('reading returns exactly the bytes that were written', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(/^[\w=-]{1,8}(\.[\w=-]{1,8})?$/)),
      fc.infiniteStream(values),
      (keys, stream) => {
        rmSync(path, { force: true });
        const entries = keys.map((key, index): ControlEntry => {
          return { bucket: index % 2 === 0 ? 'control' : 'aliases', key, bytes: stream.next().value };
        });
        const { sha256 } = writeBackup(path, entries, AT);
        const read = readBackup(path);
        expect(plain(read.entries)).toEqual(plain(entries));
        expect(read).toMatchObject({ createdAt: AT, sha256 });
      },
    ),
  );
});

test('a flipped bit is detected, wherever it is', () => {
  writeBackup(
    path,
    [entry('team.a', '{"id":"a","n":1e21,"é":[0.5]}'), entry('blob.x', Uint8Array.of(0, 255))],
    AT,
  );
  const whole = readFileSync(path);
  // Flips one bit of each byte, a different one of the eight each time.
  for (let index = 0; index < whole.length; index += 1) {
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(flipped.readUInt8(index) ^ (1 << (index % 8)), index);
    writeFileSync(path, flipped);
    expect(() => readBackup(path), `byte ${index}`).toThrow();
  }
});

test('a truncated file is rejected, at every length', () => {
  writeBackup(path, [entry('team.a', '{"id":"a"}')], AT);
  const whole = readFileSync(path);
  // Without the final line feed the file is still complete.
  for (let length = 0; length < whole.length - 1; length += 1) {
    writeFileSync(path, whole.subarray(0, length));
    expect(() => readBackup(path), `${length} bytes`).toThrow('use another backup');
  }
});

test.each([
  ['another version', (text: string) => text.replace('"version": 1', '"version": 2'), 'has version 2'],
  [
    'another format',
    (text: string) => text.replace('footfall control plane', 'shopping list'),
    'is not a backup',
  ],
  ['JSON of something else', () => '[1,2]', 'is not a backup'],
  ['an entry twice', (text: string) => text.replace(/^(\{"bucket.*)$/m, '$1,\n$1'), 'damaged'],
  ['a value changed', (text: string) => text.replace('"id":"a"', '"id":"b"'), 'damaged'],
])('%s is rejected', (_name, change, message) => {
  writeBackup(path, [entry('team.a', '{"id":"a"}')], AT);
  const text = readFileSync(path, 'utf8');
  expect(change(text)).not.toBe(text);
  writeFileSync(path, change(text));
  expect(() => readBackup(path)).toThrow(message);
});

test('only the owner may read the file, no file is overwritten, and no partial file remains', () => {
  writeBackup(path, [entry('team.a', '{}')], AT);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['backup.json']);
  const before = readFileSync(path);
  expect(() => writeBackup(path, [entry('team.b', '{}')], AT)).toThrow('already exists');
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(() => writeBackup(join(folder, 'none/backup.json'), [], AT)).toThrow('does not exist');
});
