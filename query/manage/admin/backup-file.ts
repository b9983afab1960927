import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { BUCKETS, type ControlEntry, pathOf } from './control-plane.ts';
import { countByKind } from './record-kinds.ts';

const FORMAT = 'footfall control plane';
const VERSION = 1;
const CHUNK_CHARACTERS = 1_048_576;

const location = { bucket: z.enum(BUCKETS), key: z.string().regex(/^[\w=-]+(?:\.[\w=-]+)*$/) };
const entrySchema = z.union([
  z.strictObject({ ...location, json: z.custom<unknown>((value) => value !== undefined) }),
  z.strictObject({ ...location, base64: z.base64() }),
]);
type FileEntry = z.output<typeof entrySchema>;

/** The fields of every version, so that another version is not mistaken for damage. */
const anyVersion = z.object({ format: z.literal(FORMAT), version: z.number().int() });

const headSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  createdAt: z.iso.datetime(),
  /** The number of entries by kind. */
  counts: z.record(z.string(), z.number()),
});
const fileSchema = headSchema.extend({ sha256: z.string(), entries: z.array(entrySchema) });

/** The header of a backup. */
export type BackupHead = z.output<typeof headSchema> & { readonly sha256: string };

/** A backup as read from a file. */
export interface Backup extends BackupHead {
  readonly entries: readonly ControlEntry[];
}

/** The content of a file: its header, and its text in chunks that fit into memory beside the entries. */
export interface EncodedBackup {
  readonly head: BackupHead;
  readonly chunks: Iterable<string>;
}

/**
 * Makes the content of a file. A value that is JSON exactly as this program writes it is stored as JSON, any other as base64, so
 * that reading returns the same bytes.
 */
export function encodeBackup(entries: readonly ControlEntry[], createdAt: string): EncodedBackup {
  const encoded = entries.map(encodeEntry);
  const head = headSchema.parse({
    format: FORMAT,
    version: VERSION,
    createdAt,
    counts: countByKind(entries),
  });
  const whole = { ...head, sha256: digestOf(head, encoded) };
  return { head: whole, chunks: { [Symbol.iterator]: () => chunksOf(whole, encoded) } };
}

/** Writes entries to a new file. It appears complete or not at all, and only its owner may read it. */
export function writeBackup(path: string, entries: readonly ControlEntry[], createdAt: string): BackupHead {
  rejectUnwritable(path);
  const { head, chunks } = encodeBackup(entries, createdAt);
  const part = `${path}.${process.pid}.part`;
  const file = openSync(part, 'wx', 0o600);
  try {
    try {
      for (const chunk of chunks) writeFileSync(file, chunk);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
  return head;
}

/**
 * Throws if no backup can be written to `path`. An existing file is never overwritten: it may be the only good backup.
 */
export function rejectUnwritable(path: string): void {
  if (existsSync(path)) throw new Error(`${path} already exists; choose another file`);
  if (!existsSync(dirname(path))) throw new Error(`folder ${dirname(path)} does not exist; create it first`);
}

/** Reads a file and verifies that it is complete and unchanged; otherwise throws an error with advice. */
export function readBackup(path: string): Backup {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new Error(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return decodeBackup(path, bytes);
}

/** The same for the bytes of a file that is elsewhere; `path` names it in errors. */
export function decodeBackup(path: string, bytes: Uint8Array): Backup {
  const raw = parseWhole(path, bytes);
  const { data: header } = anyVersion.safeParse(raw);
  if (header === undefined) throw new Error(`${path} is not a backup of this program; choose another file`);
  if (header.version !== VERSION) {
    throw new Error(
      `${path} has version ${header.version}, but this program reads version ${VERSION}; restore it with the program that wrote it`,
    );
  }
  const parsed = fileSchema.safeParse(raw);
  if (!parsed.success) throw damaged(path);
  const { entries, sha256, ...head } = parsed.data;
  if (digestOf(head, entries) !== sha256) throw damaged(path);
  if (new Set(entries.map(pathOf)).size !== entries.length) throw damaged(path);
  return { ...head, sha256, entries: entries.map(decodeEntry) };
}

function parseWhole(path: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw damaged(path);
  }
}

function damaged(path: string): Error {
  return new Error(`${path} is damaged or was edited; use another backup`);
}

/** SHA-256 over the header and every entry, so that any change is detected. */
function digestOf(head: z.output<typeof headSchema>, entries: readonly FileEntry[]): string {
  const hash = createHash('sha256').update(`${JSON.stringify(head)}\n`);
  for (const entry of entries) hash.update(`${JSON.stringify(entry)}\n`);
  return hash.digest('hex');
}

/** The text of the file, one entry a line, in chunks that fit into memory beside the entries. */
function* chunksOf(head: BackupHead, entries: readonly FileEntry[]): Generator<string> {
  const fields = Object.entries(head).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  let chunk = `{\n${fields.join(',\n')},\n"entries": [`;
  for (const [index, entry] of entries.entries()) {
    chunk += `${index === 0 ? '' : ','}\n${JSON.stringify(entry)}`;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = '';
  }
  yield `${chunk}\n]\n}\n`;
}

function encodeEntry({ bucket, key, bytes }: ControlEntry): FileEntry {
  const text = Buffer.from(bytes).toString('utf8');
  const json = jsonOf(text);
  const isExact = json !== undefined && JSON.stringify(json) === text && Buffer.from(text).equals(bytes);
  return isExact ? { bucket, key, json } : { bucket, key, base64: Buffer.from(bytes).toString('base64') };
}

function decodeEntry(entry: FileEntry): ControlEntry {
  const { bucket, key } = entry;
  const bytes =
    'base64' in entry ? Buffer.from(entry.base64, 'base64') : Buffer.from(JSON.stringify(entry.json));
  return { bucket, key, bytes };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Brings the names of the files in a folder to the disk: that a file is on the disk does not mean that its name is. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
