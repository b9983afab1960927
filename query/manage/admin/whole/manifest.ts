import { createHash } from 'node:crypto';
import { z } from 'zod';
import { must } from '../../../../infra/assert.ts';
import { appliedMigrationSchema, type BackedLane, backedLaneSchema } from '../../../../processor/backups.ts';
import { DELIVERIES_BUCKET } from '../../../../processor/integration.ts';
import { SYNCS_BUCKET } from '../../../../processor/search-console.ts';
import { type BackupPlace, bytesOf, MANIFEST_FILE, UNFINISHED_FILE } from './backup-place.ts';
import { type SigningKey, writeSignature } from './manifest-signature.ts';

const FORMAT = 'footfall backup';
/** 0.1.0 wrote 2 for a service of several lanes, and 3 for one of several shards; they are otherwise the same. */
const VERSION = 1;
const VERSIONS = [VERSION, 2, 3] as const;

/** More than any service has; a manifest beyond them was not written by `backup`. */
const LISTED_MAX = { lanes: 10_000, migrations: 1_000, progress: 200_000, columns: 500, files: 200_000 };
/** A restore holds the control records in memory. */
const CONTROL_MAX_BYTES = 1_073_741_824;

const count = z.int().min(0);
const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** Progress of the processor with a customer's bucket, or with the Search Console of a site. */
const progressRecordSchema = z.strictObject({
  bucket: z.enum([DELIVERIES_BUCKET, SYNCS_BUCKET]),
  // The characters that the bus allows.
  key: z.string().regex(/^[\w/=.-]{1,1000}$/),
  json: z.custom<unknown>((value) => value !== undefined),
});
export type ProgressRecord = Readonly<z.output<typeof progressRecordSchema>>;

/** One instant of a service: its name, the positions of its lanes, the first one apart, and the release that made its tables. */
const instantSchema = z.strictObject({
  backupId: z.string().max(64),
  takenAt: z.iso.datetime(),
  lane: backedLaneSchema,
  otherLanes: z.array(backedLaneSchema).min(1).max(LISTED_MAX.lanes).optional(),
  /** Number of the store's shards; one when absent. */
  storeShards: z.int().min(2).optional(),
  migrations: z.array(appliedMigrationSchema).max(LISTED_MAX.migrations),
  progress: z.array(progressRecordSchema).max(LISTED_MAX.progress),
});
export type BackupInstant = Readonly<z.output<typeof instantSchema>>;

const fileSchema = z.strictObject({ file: z.string().max(300), bytes: count, sha256: digest });
const tableSchema = z.strictObject({
  name: z.string().max(100),
  columns: z
    .array(z.strictObject({ name: z.string().max(200), type: z.string().max(1_000) }))
    .max(LISTED_MAX.columns),
  rows: count,
  /** `shard`: the one that has the rows, the first one when absent. */
  files: z.array(fileSchema.extend({ rows: count, shard: z.int().min(1).optional() })).max(LISTED_MAX.files),
});
export type TableFiles = Readonly<z.output<typeof tableSchema>>;
export type TableFile = TableFiles['files'][number];

const manifestSchema = instantSchema.extend({
  format: z.literal(FORMAT),
  version: z.literal(VERSIONS),
  createdAt: z.iso.datetime(),
  control: fileSchema.extend({ bytes: count.max(CONTROL_MAX_BYTES) }),
  tables: z.array(tableSchema).max(100),
});
const storedSchema = manifestSchema.extend({ sha256: digest });
/** The contents of a place. */
export type BackupManifest = Readonly<z.output<typeof manifestSchema>>;

/** The fields of every version, so that a later version is not mistaken for damage. */
const anyVersion = z.object({ format: z.literal(FORMAT), version: z.int() });

/** Writes the manifest, which makes the files of a place a backup, behind its signature. */
export async function writeManifest(
  place: BackupPlace,
  content: Omit<BackupManifest, 'format' | 'version'>,
  key: SigningKey,
): Promise<void> {
  const manifest = manifestSchema.parse({ format: FORMAT, version: VERSION, ...content });
  const text = `${JSON.stringify({ ...manifest, sha256: digestOf(manifest) }, undefined, 1)}\n`;
  const bytes = Buffer.from(text);
  await writeSignature(place, bytes, key);
  await place.write(MANIFEST_FILE, [bytes]);
}

/** A manifest, and the bytes that were signed. */
export interface StoredManifest {
  readonly manifest: BackupManifest;
  readonly bytes: Buffer;
}

/** Reads the manifest of a place; throws an error with advice. */
export async function readManifest(place: BackupPlace): Promise<StoredManifest> {
  const path = `${place.shown}/${MANIFEST_FILE}`;
  const bytes = await bytesOf(place, MANIFEST_FILE);
  if (bytes === undefined)
    throw new Error(
      `${place.shown} has no ${MANIFEST_FILE}: it is no backup, or one that was interrupted; repeat its backup, or use another ${place.kind}`,
    );
  const raw = jsonOf(bytes);
  const { data: header } = anyVersion.safeParse(raw);
  const versions: readonly number[] = VERSIONS;
  if (header !== undefined && !versions.includes(header.version))
    throw new Error(
      `${path} has version ${header.version}, but this program reads versions ${versions.join(', ')}; restore it with the program that wrote it`,
    );
  const { data } = storedSchema.safeParse(raw);
  if (data === undefined) throw new Error(`${path} is damaged or was edited; use another backup`);
  const { sha256, ...manifest } = data;
  if (digestOf(manifest) !== sha256) throw new Error(`${path} is damaged or was edited; use another backup`);
  return { manifest, bytes };
}

/** The positions of the lanes, by number. */
export function lanesOf({ lane, otherLanes = [] }: BackupInstant): readonly BackedLane[] {
  return [lane, ...otherLanes];
}

/** The same as a manifest has it. */
export function laneFields(lanes: readonly BackedLane[]): Pick<BackupInstant, 'lane' | 'otherLanes'> {
  const [lane, ...otherLanes] = lanes;
  return { lane: must(lane, 'a service has a lane'), ...(otherLanes.length > 0 ? { otherLanes } : {}) };
}

/** Stores the instant in the place, so an interrupted backup can continue. */
export async function writeUnfinished(place: BackupPlace, instant: BackupInstant): Promise<void> {
  const text = `${JSON.stringify(instantSchema.parse(instant), undefined, 1)}\n`;
  await place.write(UNFINISHED_FILE, [Buffer.from(text)]);
}

/** The instant of the backup that was interrupted in this place; undefined without a readable one. */
export async function readUnfinished(place: BackupPlace): Promise<BackupInstant | undefined> {
  const bytes = await bytesOf(place, UNFINISHED_FILE);
  return bytes === undefined ? undefined : instantSchema.safeParse(jsonOf(bytes)).data;
}

function digestOf(manifest: BackupManifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
