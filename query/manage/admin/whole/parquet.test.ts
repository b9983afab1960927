import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { BackupFolder } from './backup-folder.ts';
import { parquetRows } from './parquet.ts';

const folder = mkdtempSync(join(tmpdir(), 'footfall-parquet-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A footer as the format describes it: version, a schema of two elements with names, the number of rows, and more behind. */
function footer(rows: number): Buffer {
  const zigzag: number[] = [];
  for (let rest = rows * 2; ; rest = Math.floor(rest / 128)) {
    zigzag.push(rest < 128 ? rest : 128 + (rest % 128));
    if (rest < 128) break;
  }
  const name = (text: string) => [0x48, text.length, ...Buffer.from(text)];
  const element = (text: string) => [...name(text), 0x15, 4, 0x11, 0];
  return Buffer.from([
    0x15,
    4,
    0x19,
    0x2c,
    ...element('schema'),
    ...element('id'),
    0x16,
    ...zigzag,
    0x19,
    0x0c,
    0,
  ]);
}

function rowsOf(bytes: Buffer): Promise<number | undefined> {
  writeFileSync(join(folder, 'file'), bytes);
  return parquetRows(new BackupFolder(folder), 'file', bytes.length);
}

function parquet(rows: number): Buffer {
  const end = footer(rows);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(end.length);
  return Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(100), end, length, Buffer.from('PAR1')]);
}

test.each([0, 1, 63, 64, 8_192, 2_000_000])('a file says that it has %d rows', async (rows) => {
  expect(await rowsOf(parquet(rows))).toBe(rows);
});

test('a file that was cut off anywhere, or is another one, says nothing', async () => {
  const whole = parquet(2_000_000);
  for (let length = 0; length < whole.length; length += 1)
    expect(await rowsOf(whole.subarray(0, length))).toBeUndefined();
  const damaged = Buffer.from(whole);
  damaged.writeUInt8(0xff, whole.length - 8 - footer(2_000_000).length);
  expect(await rowsOf(damaged)).toBeUndefined();
  expect(await rowsOf(Buffer.from('{"a":1}'.repeat(10)))).toBeUndefined();
});
