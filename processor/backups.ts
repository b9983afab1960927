import { z } from 'zod';
import { decodeJsonContract } from '../infra/bus/json-contract.ts';
import type { LaneName } from '../infra/process/service-lanes.ts';

/**
 * CONTRACT between `npm run admin`, which writes and reads the files of a full backup, and the owners of the lanes.
 * Only an owner knows a flush at which the store has the state of one instant, and only an owner may replace the rows
 * under its own state.
 *
 * A backup of a service with one lane: `take` brings everything on the bus to the store, and keeps the tables at this
 * flush as separate tables (`instantTable`). The admin program reads them at its own pace, and ends with `drop`.
 *
 * With several lanes the admin program asks for the steps of `take`; each begins when all lanes have done the one before: `open` of the
 * first lane, `rest` and `hold` of all, `keep` of the first, `release` of all. If a lane was not held until then, the instant is invalid
 * and is taken again.
 *
 * A restore: `prepare` makes empty tables (`restoredTable`), and the admin program fills them. `adopt` replaces the
 * service's own tables with them, and the lane continues from the flush of the backup. `settle` follows the restore of
 * the control records. All three are asked of each lane. Questions and answers are JSON on the core NATS subject of the
 * lane.
 */
const VERSION = 1;

/** A table whose rows are in a backup, and their division into files. */
export interface BackedTable {
  readonly name: string;
  /** The time by whose day in UTC the rows are divided; undefined: not by days. */
  readonly time: string | undefined;
  /** SQL expression that distinguishes rows: files of very many rows are divided by its hash. */
  readonly apart: string;
  /** True if rows are states, and the store still has replaced ones until it merges them (`FINAL`). */
  readonly isReplaced: boolean;
  /** True if the column `version` says which message of the bus the row contains. */
  readonly hasMessages: boolean;
}

/** All tables whose rows cannot be derived from others. */
export const BACKED_TABLES: readonly BackedTable[] = [
  { name: 'profiles', time: undefined, apart: 'id', isReplaced: true, hasMessages: true },
  { name: 'groups', time: undefined, apart: 'id', isReplaced: true, hasMessages: true },
  { name: 'orders', time: undefined, apart: 'id', isReplaced: true, hasMessages: true },
  { name: 'tallies', time: undefined, apart: 'id', isReplaced: true, hasMessages: true },
  { name: 'search_console', time: undefined, apart: 'query, page', isReplaced: true, hasMessages: false },
  { name: 'thinned_sessions', time: undefined, apart: 'id', isReplaced: true, hasMessages: false },
  { name: 'sessions', time: 'startedAt', apart: 'id', isReplaced: true, hasMessages: false },
  { name: 'events', time: 'createdAt', apart: 'sessionId, id', isReplaced: false, hasMessages: false },
];

/** Tables that record which hours and days are rolled up, or have to be again. Empty in a service whose tables were never used. */
export const ROLLUP_NOTES = ['rollup_blocks', 'rollup_days', 'late_hours'] as const;

/** Before the names of tables that keep an instant for a backup. */
export const INSTANT_PREFIX = 'backup_';
/** Before the names of tables that a restore fills. */
export const RESTORED_PREFIX = 'restored_';

/** The table that keeps `table` as it was at the instant of a backup. */
export function instantTable(backupId: string, table: string): string {
  return `${INSTANT_PREFIX}${backupId}_${table}`;
}

/** The table that a restore fills to replace `table`. */
export function restoredTable(attempt: string, table: string): string {
  return `${RESTORED_PREFIX}${attempt}_${table}`;
}

/** The lane whose owner does the work that is done once for all lanes. */
export const FIRST_LANE = 0;

/** The subject on which the owner of a lane answers. */
export function backupSubjectOf(lane: LaneName): string {
  return `backups.${lane}`;
}

/** Part of the name of tables. */
const word = z.string().regex(/^[a-z0-9]{8,32}$/);
const count = z.int().min(0);
const version = z.literal(VERSION);

/** A file of `schema/` that was applied, with the SHA-256 of its text. */
export const appliedMigrationSchema = z.strictObject({ name: z.string(), hash: z.string() });
export type AppliedMigration = Readonly<z.output<typeof appliedMigrationSchema>>;

/**
 * Position of a lane at the instant: everything up to this flush is in the tables, and `clockMs` was its clock. `before`, in a service that
 * has grown: the lanes that had its devices earlier, each with its last flush then.
 */
export const backedLaneSchema = z.strictObject({
  flushNumber: count,
  clockMs: z.number().min(0),
  before: z
    .array(z.tuple([count, count]).readonly())
    .readonly()
    .optional(),
});
export type BackedLane = Readonly<z.output<typeof backedLaneSchema>>;

const requestSchema = z.discriminatedUnion('kind', [
  z.strictObject({ version, kind: z.literal('take'), backupId: word }),
  z.strictObject({ version, kind: z.literal('open'), backupId: word }),
  z.strictObject({ version, kind: z.literal('rest'), backupId: word }),
  z.strictObject({ version, kind: z.literal('hold'), backupId: word }),
  z.strictObject({ version, kind: z.literal('keep'), backupId: word }),
  z.strictObject({ version, kind: z.literal('release'), backupId: word }),
  z.strictObject({ version, kind: z.literal('drop'), backupId: word }),
  z.strictObject({ version, kind: z.literal('prepare'), attempt: word }),
  z.strictObject({
    version,
    kind: z.literal('adopt'),
    attempt: word,
    backupId: word,
    lane: backedLaneSchema,
  }),
  z.strictObject({ version, kind: z.literal('settle'), backupId: word }),
]);
export type BackupRequest = Readonly<z.output<typeof requestSchema>>;

const answerSchema = z.discriminatedUnion('kind', [
  /** The tables of the instant exist. */
  z.strictObject({
    version,
    kind: z.literal('taken'),
    takenAt: z.iso.datetime(),
    lane: backedLaneSchema,
    migrations: z.array(appliedMigrationSchema),
  }),
  /** The tables of the instant exist and are empty; events accepted until `takenAt` will be in them. */
  z.strictObject({
    version,
    kind: z.literal('opened'),
    takenAt: z.iso.datetime(),
    migrations: z.array(appliedMigrationSchema),
  }),
  /** The store has everything of the lane up to here, and nothing more comes until the hold ends. */
  z.strictObject({ version, kind: z.literal('held'), lane: backedLaneSchema }),
  /** The lane continues. `hasLasted`: it was held for this backup until now. */
  z.strictObject({ version, kind: z.literal('released'), hasLasted: z.boolean() }),
  /**
   * The tables to be filled exist; none does where `restored` names a backup whose rows were adopted and whose control
   * records may be missing. `versionMax`: the highest version that a document may have, so that the next update of the bus
   * is newer.
   */
  z.strictObject({
    version,
    kind: z.literal('prepared'),
    restored: word.nullable(),
    versionMax: z.string(),
    migrations: z.array(appliedMigrationSchema),
  }),
  z.strictObject({ version, kind: z.literal('done') }),
  /** The request cannot be met, for the reason that `text` gives to an operator. */
  z.strictObject({ version, kind: z.literal('refused'), text: z.string() }),
  /** Not now: the lane restarts, or something it needs is unavailable. The same request may be sent again. */
  z.strictObject({ version, kind: z.literal('unavailable') }),
]);
export type BackupAnswer = Readonly<z.output<typeof answerSchema>>;

/** A request or an answer without its version. */
type Unversioned<Message> = Message extends unknown ? Omit<Message, 'version'> : never;
export type NewBackupRequest = Unversioned<BackupRequest>;
export type NewBackupAnswer = Unversioned<BackupAnswer>;

export function encodeBackupRequest(request: NewBackupRequest): Uint8Array {
  return Buffer.from(JSON.stringify({ version: VERSION, ...request }));
}

/** @throws {DecodeError} */
export function decodeBackupRequest(bytes: Uint8Array): BackupRequest {
  return decodeJsonContract(bytes, { name: 'backup request', versions: [VERSION], schema: requestSchema });
}

export function encodeBackupAnswer(answer: NewBackupAnswer): Uint8Array {
  return Buffer.from(JSON.stringify({ version: VERSION, ...answer }));
}

/** @throws {DecodeError} */
export function decodeBackupAnswer(bytes: Uint8Array): BackupAnswer {
  return decodeJsonContract(bytes, { name: 'backup answer', versions: [VERSION], schema: answerSchema });
}
