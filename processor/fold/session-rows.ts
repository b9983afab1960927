import type { StoredId } from '../../infra/accounts/ids.ts';
import type { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { SAME_TIME } from '../rows.ts';
import { type Batch, endRow } from './batch.ts';
import { textOf } from './interned.ts';
import { deviceNameAt } from './session-devices.ts';
import { ENDED, ENTRY_IS_VIEW, EXIT_IS_VIEW, MIXED } from './session-table.ts';
import type { SliceState } from './slice-state.ts';

const NO_FRAGMENT_PAGE = '\0\0';

/** The sign of a session row: the state became true, or was replaced. */
export type Sign = 1 | -1;

/** Writes the present state of the session in `slot` as a row of `flushNumber`, in the order of `SESSIONS_COLUMNS`. */
export function writeSessionRow(
  writer: RowBinaryWriter,
  state: SliceState,
  slot: number,
  sign: Sign,
  flushNumber: number,
): void {
  const { sessions } = state;
  const flags = sessions.flags[slot] ?? 0;
  const startMs = sessions.startMs[slot] ?? 0;
  const endMs = sessions.endMs[slot] ?? 0;
  const entryMs = sessions.entryMs[slot] ?? 0;
  const exitMs = sessions.exitMs[slot] ?? 0;
  writer.i8(sign);
  writer.u32(sessions.version[slot] ?? 0);
  writer.u16(state.lane);
  writer.u32(flushNumber);
  writeDevice(writer, state, slot);
  writer.raw(sessions.ids, slot * 16, slot * 16 + 16);
  writeRun(writer, textOf(state.profiles, sessions.profile[slot] ?? 0));
  writer.dateTime64Ms(startMs);
  writer.dateTime64Ms(endMs);
  writer.dateTime64Ms(sessions.touchedMs[slot] ?? 0);
  writer.u32(sessions.screenViews[slot] ?? 0);
  writer.u32(sessions.otherEvents[slot] ?? 0);
  writeRevenue(writer, state.revenueBySlot.get(slot));
  writer.dateTime64Ms(entryMs === startMs ? SAME_TIME : entryMs);
  writer.dateTime64Ms(exitMs === endMs ? SAME_TIME : exitMs);
  writer.u8((flags & ENTRY_IS_VIEW) === 0 ? 0 : 1);
  writer.u8((flags & EXIT_IS_VIEW) === 0 ? 0 : 1);
  writer.latin1(textOf(state.pages, sessions.exitPage[slot] ?? 0) || NO_FRAGMENT_PAGE);
  writer.latin1(textOf(state.pages, sessions.entryPage[slot] ?? 0) || NO_FRAGMENT_PAGE);
  writer.latin1(textOf(state.sources, sessions.source[slot] ?? 0));
  writer.latin1(textOf(state.environments, sessions.environment[slot] ?? 0));
  writer.u8((flags & ENDED) === 0 ? 0 : 1);
  writer.u8((flags & MIXED) === 0 ? 0 : 1);
  writer.dateTime64Ms(state.creditedBySlot.get(slot) ?? 0);
}

/**
 * Writes the marker of a flush, which replaces the marker of the flush before. If a reader finds it among the sessions, they include this
 * flush.
 */
export function writeMarkerRows(batch: Pick<Batch, 'flushNumber' | 'sessions'>, lane: number): void {
  const { flushNumber } = batch;
  if (flushNumber > 1) writeMarker(batch, lane, flushNumber - 1, -1);
  writeMarker(batch, lane, flushNumber, 1);
}

/** The site of a session. */
export function projectIdOfSlot(state: SliceState, slot: number): StoredId {
  return Buffer.from(textOf(state.sites, state.sessions.site[slot] ?? 0), 'latin1').toString() as StoredId;
}

/** Writes the site and the name of a session's device. */
export function writeDevice(writer: RowBinaryWriter, state: SliceState, slot: number): void {
  writeRun(writer, textOf(state.sites, state.sessions.site[slot] ?? 0));
  writeRun(writer, deviceNameAt(state, slot));
}

/** Writes a text whose bytes are known, after its length. */
export function writeRun(writer: RowBinaryWriter, run: string): void {
  writer.varint(run.length);
  writer.latin1(run);
}

function writeRevenue(writer: RowBinaryWriter, revenue: ReadonlyMap<string, bigint> | undefined): void {
  if (revenue === undefined) {
    writer.varint(0);
    return;
  }
  writer.varint(revenue.size);
  for (const [currency, minorUnits] of revenue) {
    writeRun(writer, currency);
    writer.i64(minorUnits);
  }
}

function writeMarker(
  batch: Pick<Batch, 'flushNumber' | 'sessions'>,
  lane: number,
  version: number,
  sign: Sign,
): void {
  const { writer } = batch.sessions;
  writer.i8(sign);
  writer.u32(version);
  writer.u16(lane);
  writer.u32(batch.flushNumber);
  writer.string('');
  writer.string('');
  for (let index = 0; index < 14; index += 1) writer.u8(0);
  writer.u16(lane);
  writer.string('');
  for (let index = 0; index < 3; index += 1) writer.dateTime64Ms(0);
  writer.u32(0);
  writer.u32(0);
  writer.varint(0);
  writer.dateTime64Ms(0);
  writer.dateTime64Ms(0);
  writer.u16(0);
  // Two pages of two texts and nine texts of a source, then the environment: three texts, two coordinates, seven texts, and
  // the locale.
  for (let index = 0; index < 13 + 3; index += 1) writer.string('');
  writer.f32(0);
  writer.f32(0);
  for (let index = 0; index < 7 + 3; index += 1) writer.string('');
  writer.u16(0);
  writer.dateTime64Ms(0);
  endRow(batch.sessions, 0);
}
