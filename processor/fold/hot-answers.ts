import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { encodeHotAnswer, type HotMinute, type HotQuestion } from '../hot.ts';
import { type Batch, copyRowsOf } from './batch.ts';
import { expireCounters } from './counting.ts';
import { runOf } from './interned.ts';
import type { PartitionState } from './partition.ts';
import { writeSessionRow } from './session-rows.ts';
import { expireLive, LIVE_WINDOW_MS } from './site-counters.ts';

const BYTES_MAX = 1_073_741_824;

/** Batches that are not known to be in the store, in order, and the last flush that is. */
export interface Unflushed {
  readonly flushNumber: number;
  /** The batch that is being inserted now; undefined when there is none. */
  readonly inFlight: Batch | undefined;
  readonly open: Batch;
}

/** Answers a question about what is in memory. `messageMaxBytes` bounds one answer. */
export function answerHot(
  state: PartitionState,
  unflushed: Unflushed,
  question: HotQuestion,
  messageMaxBytes: number,
): Uint8Array {
  switch (question.kind) {
    case 'live':
      return encodeHotAnswer({
        kind: 'live',
        visitors: liveVisitors(state, question.projectId, question.nowMs),
      });
    case 'live-details':
      return liveDetails(state, question.projectId, question.nowMs);
    case 'minutes':
      return minutes(state, question.projectId, question.fromMs);
    case 'rows':
      return rows(state, unflushed, question, messageMaxBytes);
  }
}

function liveVisitors(state: PartitionState, projectId: string, nowMs: number): number {
  const counters = state.counters.get(runOf(projectId));
  if (counters === undefined) return 0;
  expireLive(counters, nowMs);
  return counters.live;
}

function liveDetails(state: PartitionState, projectId: string, nowMs: number): Uint8Array {
  const site = state.sites.idByText.get(runOf(projectId)) ?? 0;
  const visitors = liveVisitors(state, projectId, nowMs);
  const pages = new Map<string, number>();
  const countries = new Map<string, number>();
  const referrers = new Map<string, number>();
  const { sessions } = state;
  const fromSecond = Math.floor((nowMs - LIVE_WINDOW_MS) / 1000);
  for (let slot = 1; slot < sessions.used; slot += 1) {
    if (sessions.site[slot] !== site || (sessions.liveSecond[slot] ?? 0) <= fromSecond || site === 0)
      continue;
    addOne(pages, textAt(state.pages.textById[sessions.exitPage[slot] ?? 0], 1));
    addOne(countries, textAt(state.environments.textById[sessions.environment[slot] ?? 0], 0));
    addOne(referrers, textAt(state.sources.textById[sessions.source[slot] ?? 0], 1));
  }
  return encodeHotAnswer({
    kind: 'live-details',
    visitors,
    pages: [...pages],
    countries: [...countries],
    referrers: [...referrers],
  });
}

function minutes(state: PartitionState, projectId: string, fromMs: number): Uint8Array {
  expireCounters(state);
  const counters = state.counters.get(runOf(projectId));
  if (fromMs < (counters?.minutesFromMs ?? state.evictedMinutesBeforeMs)) {
    return encodeHotAnswer({ kind: 'unavailable', reason: 'not-held' });
  }
  const answered: HotMinute[] = [];
  for (const [minuteMs, minute] of counters?.minutes ?? []) {
    if (minuteMs < fromMs) continue;
    const revenue: Record<string, string> = {};
    for (const [currency, minorUnits] of minute.revenue) revenue[currency] = minorUnits.toString();
    answered.push({ ...minute, minuteMs, revenue, visitors: minute.visitors.values() });
  }
  return encodeHotAnswer({ kind: 'minutes', partition: state.partition, minutes: answered });
}

function rows(
  state: PartitionState,
  unflushed: Unflushed,
  { projectId, rowsVersion }: Extract<HotQuestion, { kind: 'rows' }>,
  messageMaxBytes: number,
): Uint8Array {
  const site = state.sites.idByText.get(runOf(projectId)) ?? 0;
  const events = new RowBinaryWriter(BYTES_MAX);
  const sessions = new RowBinaryWriter(BYTES_MAX);
  let eventRows = 0;
  let sessionRows = 0;
  const hours = new Set<number>();
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
  if (events.length + sessions.length > messageMaxBytes - 1024) {
    return encodeHotAnswer({ kind: 'unavailable', reason: 'too-large' });
  }
  const head = {
    kind: 'rows',
    ...(rowsVersion === undefined ? {} : { rowsVersion }),
    partition: state.partition,
    flushNumber: unflushed.flushNumber,
    eventBytes: events.length,
    sessionBytes: sessions.length,
    eventRows,
    sessionRows,
    hours: [...hours],
  } as const;
  return encodeHotAnswer(head, events.bytes(), sessions.bytes());
}

/** The text at `index` of a run of texts, each behind its length. */
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

function addOne(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
