import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { must } from '../../../../infra/assert.ts';
import { appliedMigrationSchema, type BackedLane, backedLaneSchema } from '../../../../processor/backups.ts';
import { DELIVERIES_BUCKET } from '../../../../processor/integration.ts';
import { SYNCS_BUCKET } from '../../../../processor/search-console.ts';
import { writeWholeFile } from './backup-folder.ts';

/** Written last: a folder without it is no backup. */
export const MANIFEST_FILE = 'manifest.json';
/** The instant of a backup that is not finished. */
export const UNFINISHED_FILE = 'unfinished.json';
/** The control plane, as `backup <file>` writes it. */
export const CONTROL_FILE = 'control.json';

const FORMAT = 'footfall backup';
/** Version 1 is of a service with one lane. It is still written for one, and a release before reads it. */
const VERSIONS = { ofOneLane: 1, ofSeveral: 2 } as const;

const count = z.int().min(0);
const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** How far the processor has come with a customer's bucket, or with the Search Console of a site. */
const progressRecordSchema = z.strictObject({
  bucket: z.enum([DELIVERIES_BUCKET, SYNCS_BUCKET]),
  key: z.string().min(1),
  json: z.custom<unknown>((value) => value !== undefined),
});
export type ProgressRecord = Readonly<z.output<typeof progressRecordSchema>>;

/** One instant of a service: what it is called, where its lanes were, the first one apart, and which release made its tables. */
const instantSchema = z.strictObject({
  backupId: z.string(),
  takenAt: z.iso.datetime(),
  lane: backedLaneSchema,
  otherLanes: z.array(backedLaneSchema).min(1).optional(),
  migrations: z.array(appliedMigrationSchema),
  progress: z.array(progressRecordSchema),
});
export type BackupInstant = Readonly<z.output<typeof instantSchema>>;

const fileSchema = z.strictObject({ file: z.string(), bytes: count, sha256: digest });
const tableSchema = z.strictObject({
  name: z.string(),
  columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
  rows: count,
  files: z.array(fileSchema.extend({ rows: count })),
});
export type TableFiles = Readonly<z.output<typeof tableSchema>>;
export type TableFile = TableFiles['files'][number];

const manifestSchema = instantSchema.extend({
  format: z.literal(FORMAT),
  version: z.literal([VERSIONS.ofOneLane, VERSIONS.ofSeveral]),
  createdAt: z.iso.datetime(),
  control: fileSchema,
  tables: z.array(tableSchema),
});
const storedSchema = manifestSchema.extend({ sha256: digest });
/** What a folder holds. */
export type BackupManifest = Readonly<z.output<typeof manifestSchema>>;

/** The fields of every version, so that a later version is not mistaken for damage. */
const anyVersion = z.object({ format: z.literal(FORMAT), version: z.int() });

/** Writes the manifest, which makes the folder a backup. */
export async function writeManifest(
  folder: string,
  content: Omit<BackupManifest, 'format' | 'version'>,
): Promise<void> {
  const version = content.otherLanes === undefined ? VERSIONS.ofOneLane : VERSIONS.ofSeveral;
  const manifest = manifestSchema.parse({ format: FORMAT, version, ...content });
  const text = `${JSON.stringify({ ...manifest, sha256: digestOf(manifest) }, undefined, 1)}\n`;
  await writeWholeFile(join(folder, MANIFEST_FILE), [Buffer.from(text)]);
}

/** Reads the manifest of a folder; throws an error that says what to do. */
export function readManifest(folder: string): BackupManifest {
  const path = join(folder, MANIFEST_FILE);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new Error(
      `${folder} has no ${MANIFEST_FILE}: it is no backup, or one that was interrupted; repeat its backup, or use another folder`,
    );
  }
  const raw = jsonOf(text);
  const { data: header } = anyVersion.safeParse(raw);
  const versions: readonly number[] = Object.values(VERSIONS);
  if (header !== undefined && !versions.includes(header.version))
    throw new Error(
      `${path} has version ${header.version}, but this program reads versions ${versions.join(' and ')}; restore it with the program that wrote it`,
    );
  const { data } = storedSchema.safeParse(raw);
  if (data === undefined) throw new Error(`${path} is damaged or was edited; use another backup`);
  const { sha256, ...manifest } = data;
  if (digestOf(manifest) !== sha256) throw new Error(`${path} is damaged or was edited; use another backup`);
  return manifest;
}

/** Where the lanes were, by their numbers. */
export function lanesOf({ lane, otherLanes = [] }: BackupInstant): readonly BackedLane[] {
  return [lane, ...otherLanes];
}

/** The same as a manifest has it. */
export function laneFields(lanes: readonly BackedLane[]): Pick<BackupInstant, 'lane' | 'otherLanes'> {
  const [lane, ...otherLanes] = lanes;
  return { lane: must(lane, 'a service has a lane'), ...(otherLanes.length > 0 ? { otherLanes } : {}) };
}

/** Remembers the instant in the folder, so that an interrupted backup can go on. */
export async function writeUnfinished(folder: string, instant: BackupInstant): Promise<void> {
  const text = `${JSON.stringify(instantSchema.parse(instant), undefined, 1)}\n`;
  await writeWholeFile(join(folder, UNFINISHED_FILE), [Buffer.from(text)]);
}

/** The instant of the backup that was interrupted in this folder; undefined without a readable one. */
export function readUnfinished(folder: string): BackupInstant | undefined {
  try {
    return instantSchema.safeParse(jsonOf(readFileSync(join(folder, UNFINISHED_FILE), 'utf8'))).data;
  } catch {
    return undefined;
  }
}

function digestOf(manifest: BackupManifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
