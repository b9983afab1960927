import { z } from 'zod';
import { type StoredId, storedIdSchema } from '../../infra/accounts/ids.ts';
import type { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { EntityUpdate } from '../../ingest/entity-update.ts';

/** The fields of every kind of entity. */
export interface EntityHead {
  readonly projectId: StoredId;
  readonly id: string;
  /** Version of the last message that changed it: (generation of the stream << 32 | sequence). */
  readonly version: bigint;
  /** Idempotency keys of the last updates that were applied, oldest first. */
  readonly updateIds: readonly string[];
  readonly createdAtMs: number;
  /** The newest time of an applied update. */
  readonly updatedAtMs: number;
}

/** The result of an update. An unchanged document is the given object itself; there may be none yet. */
export type Applied<Document, Outcome> =
  | { readonly changed: true; readonly document: Document; readonly outcome: Outcome }
  | { readonly changed: false; readonly document: Document | undefined; readonly outcome: Outcome };

/** The fields of every update. */
export type UpdateHead = Pick<EntityUpdate, 'projectId' | 'id' | 'atMs' | 'updateId'>;

/**
 * Idempotency keys that an entity remembers; the oldest is evicted. An order remembers more, because it is about money.
 */
export const UPDATE_IDS_MAX = 64;

/** True if this update was applied before. */
export function isRepeat(document: EntityHead | undefined, update: UpdateHead): boolean {
  return update.updateId !== '' && document !== undefined && document.updateIds.includes(update.updateId);
}

/** The head of an entity after an update. */
export function headAfter(
  document: EntityHead | undefined,
  update: UpdateHead,
  { version, updateIdsMax }: { readonly version: bigint; readonly updateIdsMax: number },
): EntityHead {
  return {
    projectId: update.projectId,
    id: update.id,
    version,
    updateIds: idsAfter(document?.updateIds ?? [], update.updateId, updateIdsMax),
    createdAtMs: document?.createdAtMs ?? update.atMs,
    // Collectors' clocks differ; an entity does not become younger.
    updatedAtMs: Math.max(document?.updatedAtMs ?? update.atMs, update.atMs),
  };
}

function idsAfter(ids: readonly string[], id: string, idsMax: number): readonly string[] {
  if (id === '') return ids;
  return [...ids.slice(Math.max(0, ids.length + 1 - idsMax)), id];
}

/** Columns of every entity's table: these at the front, */
export const FRONT_COLUMNS = ['projectId', 'id'] as const;
/** and these at the end. */
export const END_COLUMNS = ['createdAt', 'updatedAt', 'updateIds', 'version'] as const;

/** Columns to select to read a head back. No alias is the name of a column, so that a query may order and filter by columns. */
export const HEAD_SELECT = `projectId, id, toUnixTimestamp64Milli(createdAt) AS createdAtMs,
  toUnixTimestamp64Milli(updatedAt) AS updatedAtMs, updateIds, toString(version) AS versionText`;

export function writeFront(writer: RowBinaryWriter, head: EntityHead): void {
  writer.string(head.projectId);
  writer.string(head.id);
}

export function writeEnd(writer: RowBinaryWriter, head: EntityHead): void {
  writer.dateTime64Ms(head.createdAtMs);
  writer.dateTime64Ms(head.updatedAtMs);
  writer.stringArray(head.updateIds);
  writer.u64(head.version);
}

/** Fields of a row that was selected with `HEAD_SELECT`. */
export const headFields = {
  projectId: storedIdSchema,
  id: z.string(),
  // A store may be set up to quote numbers of 64 bits.
  createdAtMs: z.coerce.number(),
  updatedAtMs: z.coerce.number(),
  updateIds: z.array(z.string()),
  versionText: z.string(),
};

/** The head of such a row. */
export function headOf(row: Omit<EntityHead, 'version'> & { readonly versionText: string }): EntityHead {
  const { projectId, id, updateIds, createdAtMs, updatedAtMs, versionText } = row;
  return { projectId, id, version: BigInt(versionText), updateIds, createdAtMs, updatedAtMs };
}
