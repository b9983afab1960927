import { z } from 'zod';
import type { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { TallyUpdate } from '../../ingest/entity-update.ts';
import {
  type Applied,
  END_COLUMNS,
  type EntityHead,
  FRONT_COLUMNS,
  HEAD_SELECT,
  headAfter,
  headFields,
  headOf,
  isRepeat,
  UPDATE_IDS_MAX,
  writeEnd,
  writeFront,
} from './head.ts';

/** Number of a site's requests that were understood and not recorded within one hour, for one reason and one name. */
export interface TallyDocument extends EntityHead {
  readonly kind: 'tally';
  readonly hourMs: number;
  readonly reason: string;
  readonly name: string;
  readonly count: number;
}

export type TallyOutcome = 'applied' | 'repeat';

/**
 * Applies an update to a tally. The id represents hour, reason and name; a tally keeps its first ones, because its row is stored under
 * them.
 */
export function applyTally(
  document: TallyDocument | undefined,
  update: TallyUpdate,
  version: bigint,
): Applied<TallyDocument, TallyOutcome> {
  if (isRepeat(document, update)) return { changed: false, document, outcome: 'repeat' };
  const { hourMs, reason, name } = document ?? update;
  const count = Math.min((document?.count ?? 0) + update.count, Number.MAX_SAFE_INTEGER);
  const head = headAfter(document, update, { version, updateIdsMax: UPDATE_IDS_MAX });
  return {
    changed: true,
    document: { kind: 'tally', ...head, hourMs, reason, name, count },
    outcome: 'applied',
  };
}

/** Columns of the table `tallies`, in its order. */
export const TALLY_COLUMNS = [...FRONT_COLUMNS, 'hour', 'reason', 'name', 'count', ...END_COLUMNS] as const;

/** Columns to select to read tallies back with `tallyOf`. */
export const TALLY_SELECT = `${HEAD_SELECT}, toUnixTimestamp(hour) AS hourSeconds, reason, name, count`;

/** Appends the row of a tally. */
export function writeTallyRow(writer: RowBinaryWriter, tally: TallyDocument): void {
  writeFront(writer, tally);
  writer.u32(tally.hourMs / 1000);
  writer.string(tally.reason);
  writer.string(tally.name);
  writer.u64(BigInt(tally.count));
  writeEnd(writer, tally);
}

const rowSchema = z.object({
  ...headFields,
  hourSeconds: z.number(),
  reason: z.string(),
  name: z.string(),
  count: z.coerce.number(),
});

/** The tally of a row that was selected with `TALLY_SELECT`. */
export function tallyOf(row: unknown): TallyDocument {
  const read = rowSchema.parse(row);
  return {
    kind: 'tally',
    ...headOf(read),
    hourMs: read.hourSeconds * 1000,
    reason: read.reason,
    name: read.name,
    count: read.count,
  };
}
