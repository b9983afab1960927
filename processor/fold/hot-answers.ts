import type { StoredId } from '../../infra/accounts/ids.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import {
  encodeHotAnswer,
  type HotAnswer,
  type HotHead,
  type HotMinute,
  type HotQuestion,
  type LiveCount,
  type LivePart,
  type RowsHead,
} from '../hot.ts';
import { type Batch, copyRowsOf } from './batch.ts';
import { expireCounters } from './counting.ts';
import { runOf } from './interned.ts';
import { isNewestOfDevice, liveVisitors } from './live.ts';
import type { FlushedRows, RecentFlushes } from './recent-flushes.ts';
import { writeSessionRow } from './session-rows.ts';
import type { Minute } from './site-counters.ts';
import type { SliceState } from './slice-state.ts';

const BYTES_MAX = 1_073_741_824;

/** Batches that are not known to be in the store, in order, and the last flush that is. */
export interface Unflushed {
  readonly flushNumber: number;
  /** Rows of the newest flushes in the store, of sites that are asked about. */
  readonly recent: RecentFlushes;
  /** The batch that is being inserted; undefined without one. */
  readonly inFlight: Batch | undefined;
  readonly open: Batch;
}

/** Answers a question from memory. `messageMaxBytes` bounds one answer. */
export function answerHot(
  state: SliceState,
  unflushed: Unflushed,
  question: HotQuestion,
  messageMaxBytes: number,
): Uint8Array {
  const { head, events, sessions } = answerOf(state, unflushed, question, messageMaxBytes);
  return encodeHotAnswer(head, events, sessions, question.reads);
}

type Answer = Pick<HotAnswer, 'head'> & Partial<HotAnswer>;

function answerOf(
  state: SliceState,
  unflushed: Unflushed,
  question: HotQuestion,
  messageMaxBytes: number,
): Answer {
  switch (question.kind) {
    case 'live':
      return { head: live(state, question.projectId, question.nowMs) };
    case 'live-details':
      return { head: liveDetails(state, question.projectId, question.nowMs) };
    case 'minutes':
      return { head: minutes(state, question.projectId, question.fromMs) };
    case 'rows':
      return rows(state, unflushed, question, messageMaxBytes);
  }
}

function live(state: SliceState, projectId: StoredId, nowMs: number): HotHead {
  const { devices, named } = liveVisitors(state, runOf(projectId), nowMs);
  const profiles = new Set<number>();
  for (const slot of named) profiles.add(state.sessions.visitor[slot] ?? 0);
  return { kind: 'live', visitors: devices, profiles: [...profiles] };
}

/** The sites whose live visitors are counted together, and the maximum number of profiles of each. */
export interface LiveQuestion {
  readonly projectIds: readonly string[];
  readonly nowMs: number;
  readonly profilesMax: number;
}

/** The live visitors of these sites in their order; undefined for one with more profiles. */
export function liveParts(state: SliceState, question: LiveQuestion): readonly (LivePart | undefined)[] {
  const { projectIds, nowMs, profilesMax } = question;
  return projectIds.map((projectId) => {
    const { devices, named } = liveVisitors(state, runOf(projectId), nowMs);
    const profiles = new Set<number>();
    for (const slot of named) {
      profiles.add(state.sessions.visitor[slot] ?? 0);
      if (profiles.size > profilesMax) return undefined;
    }
    return { visitors: devices, profiles: [...profiles] };
  });
}

function liveDetails(state: SliceState, projectId: StoredId, nowMs: number): HotHead {
  const run = runOf(projectId);
  const { devices } = liveVisitors(state, run, nowMs);
  const profiles = new Set<number>();
  const pages = new LiveCounts();
  const countries = new LiveCounts();
  const referrers = new LiveCounts();
  const { sessions } = state;
  const site = state.sites.idByText.get(run) ?? 0;
  const fromSecond = state.counters.get(run)?.floorSecond ?? Number.POSITIVE_INFINITY;
  for (let slot = 1; slot < sessions.used; slot += 1) {
    if (sessions.site[slot] !== site || (sessions.liveSecond[slot] ?? 0) <= fromSecond || site === 0)
      continue;
    const profile = sessions.profile[slot] === 0 ? 0 : (sessions.visitor[slot] ?? 0);
    if (profile === 0 && !isNewestOfDevice(state, slot)) continue;
    if (profile !== 0) profiles.add(profile);
    pages.add(textAt(state.pages.textById[sessions.exitPage[slot] ?? 0], 1), profile);
    countries.add(textAt(state.environments.textById[sessions.environment[slot] ?? 0], 0), profile);
    referrers.add(textAt(state.sources.textById[sessions.source[slot] ?? 0], 1), profile);
  }
  return {
    kind: 'live-details',
    visitors: devices,
    profiles: [...profiles],
    pages: pages.counts(),
    countries: countries.counts(),
    referrers: referrers.counts(),
  };
}

/** Live visitors by a name. */
class LiveCounts {
  readonly #byName = new Map<string, { devices: number; readonly profiles: Set<number> }>();

  /** Adds a device, or a profile by its hash. */
  add(name: string, profile: number): void {
    let count = this.#byName.get(name);
    if (count === undefined) {
      count = { devices: 0, profiles: new Set() };
      this.#byName.set(name, count);
    }
    if (profile === 0) count.devices += 1;
    else count.profiles.add(profile);
  }

  counts(): LiveCount[] {
    return [...this.#byName].map(([name, { devices, profiles }]) => [name, devices, [...profiles]]);
  }
}

function minutes(state: SliceState, projectId: StoredId, fromMs: number): HotHead {
  expireCounters(state);
  const counters = state.counters.get(runOf(projectId));
  if (fromMs < (counters?.minutesFromMs ?? state.evictedMinutesBeforeMs)) {
    return { kind: 'unavailable', reason: 'not-held' };
  }
  const answered: HotMinute[] = [];
  for (const [minuteMs, minute] of counters?.minutes ?? []) {
    if (minuteMs < fromMs) continue;
    const revenue: Record<string, string> = {};
    for (const [currency, minorUnits] of minute.revenue) revenue[currency] = minorUnits.toString();
    const { screenViews, otherEvents, sessions, bounces, durationMs } = minute;
    const visitors = visitorsOf(state, minute);
    answered.push({ minuteMs, screenViews, otherEvents, sessions, bounces, durationMs, revenue, visitors });
  }
  return { kind: 'minutes', partition: state.lane, minutes: answered };
}

/** The hashes of all visitors with an event in a minute. */
function visitorsOf({ sessions }: SliceState, { slots, visitors }: Minute): number[] {
  const hashes = new Set(visitors.values());
  for (const slot of slots.values()) hashes.add(sessions.visitor[slot] ?? 0);
  return [...hashes];
}

/** The rows that are not in the store, and the rows of all flushes after the asker's, if they are here and have room. */
function rows(
  state: SliceState,
  unflushed: Unflushed,
  { projectId, held }: Extract<HotQuestion, { kind: 'rows' }>,
  messageMaxBytes: number,
): Answer {
  const flush = held?.[state.lane];
  const recent = flush === undefined ? [] : unflushed.recent.since(projectId, flush, unflushed.flushNumber);
  const answer = rowsWith(state, unflushed, projectId, recent ?? []);
  if (recent !== undefined && flush !== undefined && flush < unflushed.flushNumber) {
    const head = { ...answer.head, flushNumber: flush, storedFlush: unflushed.flushNumber };
    if (hasRoom(answer, messageMaxBytes)) return { ...answer, head };
    return rows(state, unflushed, { kind: 'rows', projectId }, messageMaxBytes);
  }
  return hasRoom(answer, messageMaxBytes) ? answer : { head: { kind: 'unavailable', reason: 'too-large' } };
}

function hasRoom({ events, sessions }: RowsAnswer, messageMaxBytes: number): boolean {
  return events.length + sessions.length <= messageMaxBytes - 1024;
}

interface RowsAnswer extends HotAnswer {
  readonly head: RowsHead;
}

function rowsWith(
  state: SliceState,
  unflushed: Unflushed,
  projectId: StoredId,
  recent: readonly FlushedRows[],
): RowsAnswer {
  const site = state.sites.idByText.get(runOf(projectId)) ?? 0;
  const events = new RowBinaryWriter(BYTES_MAX);
  const sessions = new RowBinaryWriter(BYTES_MAX);
  let eventRows = 0;
  let sessionRows = 0;
  const hours = new Set<number>();
  for (const flushed of recent) {
    for (const hour of flushed.hours) hours.add(hour);
    events.raw(flushed.events, 0, flushed.events.length);
    sessions.raw(flushed.sessions, 0, flushed.sessions.length);
    eventRows += flushed.eventRows;
    sessionRows += flushed.sessionRows;
  }
  if (site !== 0) {
    for (const batch of [unflushed.inFlight, unflushed.open]) {
      if (batch === undefined) continue;
      for (const hour of batch.hours.get(site) ?? []) hours.add(hour);
      eventRows += copyRowsOf(batch.events, site, events);
      sessionRows += copyRowsOf(batch.sessions, site, sessions);
      for (const slot of batch.changed) {
        if (slot === 0 || state.sessions.site[slot] !== site) continue;
        writeSessionRow(sessions, state, slot, 1, batch.flushNumber);
        sessionRows += 1;
      }
    }
  }
  const head = {
    kind: 'rows',
    partition: state.lane,
    flushNumber: unflushed.flushNumber,
    eventBytes: events.length,
    sessionBytes: sessions.length,
    eventRows,
    sessionRows,
    hours: [...hours],
  } as const;
  return { head, events: events.bytes(), sessions: sessions.bytes() };
}

/** The text at `index` of a run of texts, each after its length. */
function textAt(run: string | undefined, index: number): string {
  const bytes = Buffer.from(run ?? '', 'latin1');
  let offset = 0;
  for (let place = 0; offset < bytes.length; place += 1) {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[offset] ?? 0;
      offset += 1;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (place === index) return bytes.toString('utf8', offset, offset + length);
    offset += length;
  }
  return '';
}
