import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { Manifest, ManifestFile } from '../manifest.ts';
import type { ReadEvent } from './stored-events.ts';

/** Findings of a reader that follows the README. */
export interface FoundInBucket {
  readonly manifests: readonly Manifest[];
  readonly events: readonly ReadEvent[];
  /** Files that no manifest of the integration names. */
  readonly orphans: readonly string[];
}

const FIELDS = [
  'id',
  'name',
  'deviceId',
  'profileId',
  'sessionId',
  'projectId',
  'createdAt',
  'path',
  'city',
  'revenue',
  'currency',
  'groups',
  'properties',
] as const satisfies readonly (keyof ReadEvent)[];

/**
 * Reads the manifests of an integration in order, from 1 on, and only the files that they name. Throws when anything
 * differs from the README.
 */
export async function readBucket(
  objects: ReadonlyMap<string, Buffer>,
  { id, prefix, projectId }: { readonly id: string; readonly prefix: string; readonly projectId: string },
): Promise<FoundInBucket> {
  const root = prefix === '' ? '' : `${prefix}/`;
  const manifests: Manifest[] = [];
  const events: ReadEvent[] = [];
  const named = new Set<string>();
  for (let sequence = 1; ; sequence += 1) {
    const key = `${root}manifests/${id}/${String(sequence).padStart(9, '0')}.json`;
    const bytes = objects.get(key);
    if (bytes === undefined) break;
    named.add(key);
    const manifest = JSON.parse(bytes.toString('utf8')) as Manifest;
    check(manifest.sequence === sequence && manifest.integrationId === id, `${key} is of another step`);
    check(manifest.projectId === projectId, `${key} is of another site`);
    manifests.push(manifest);
    for (const file of manifest.files) {
      check(!named.has(file.key), `${file.key} is named twice`);
      named.add(file.key);
      const folder = `${root}events/site=${encodeURIComponent(projectId)}/date=${file.hour.slice(0, 10)}/hour=${file.hour.slice(11)}/`;
      check(file.key.startsWith(folder), `${file.key} is not in the folder of its hour`);
      events.push(...(await readFile(file, objects.get(file.key))));
    }
    check(
      manifest.rows === manifest.files.reduce((sum, { rows }) => sum + rows, 0),
      `${key} miscounts its rows`,
    );
  }
  const orphans = [...objects.keys()].filter((key) => key.includes(id) && !named.has(key));
  return { manifests, events, orphans };
}

async function readFile(file: ManifestFile, bytes: Buffer | undefined): Promise<ReadEvent[]> {
  if (bytes === undefined) throw new Error(`${file.key} is not there`);
  check(bytes.length === file.bytes, `${file.key} has another length`);
  check(createHash('sha256').update(bytes).digest('hex') === file.sha256, `${file.key} has another hash`);
  check(file.key.includes(file.sha256.slice(0, 16)), `${file.key} is not named by its hash`);
  const rows = file.key.endsWith('.parquet') ? await readParquet(bytes) : readNdjson(bytes);
  check(rows.length === file.rows && rows.length > 0, `${file.key} has another number of rows`);
  const times = rows.map(({ createdAt }) => createdAt).sort();
  check(times[0] === file.from && times.at(-1) === file.to, `${file.key} has events of other times`);
  check(
    times.every((time) => time.startsWith(file.hour)),
    `${file.key} has events of another hour`,
  );
  return rows;
}

async function readParquet(bytes: Buffer): Promise<ReadEvent[]> {
  const file = new Uint8Array(bytes).buffer;
  const rows: Record<string, unknown>[] = await parquetReadObjects({ file, compressors });
  return rows.map((row) => {
    const { createdAt, revenue, properties } = row;
    if (!(createdAt instanceof Date)) throw new Error('createdAt is no time');
    return eventFrom({
      ...row,
      createdAt: createdAt.toISOString(),
      // The Parquet reader multiplies in doubles, which is off by the last digit.
      revenue: typeof revenue === 'number' ? Math.round(revenue * 10_000) / 10_000 : (revenue ?? null),
      properties: Array.isArray(properties) ? Object.fromEntries(pairsOf(properties)) : properties,
    });
  });
}

function pairsOf(entries: readonly unknown[]): [string, unknown][] {
  return entries.map((entry) => {
    const { key, value } = entry as { key: string; value: unknown };
    return [key, value];
  });
}

function readNdjson(bytes: Buffer): ReadEvent[] {
  const lines = gunzipSync(bytes).toString('utf8').split('\n');
  check(lines.pop() === '', 'a line has no end');
  return lines.map((line) => eventFrom(JSON.parse(line) as Record<string, unknown>));
}

function eventFrom(row: Readonly<Record<string, unknown>>): ReadEvent {
  return Object.fromEntries(FIELDS.map((name) => [name, row[name]])) as unknown as ReadEvent;
}

function check(isTrue: boolean, problem: string): void {
  if (!isTrue) throw new Error(problem);
}
