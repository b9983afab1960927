import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { Store } from '../../infra/store/store.ts';
import type { RangeName } from '../../query/time/range.ts';
import { type Client, type Credential, rejectOf } from '../cluster/client.ts';
import { rangeNow } from './raw-scan.ts';
import { percentile, rounded } from './results.ts';

/** The questions, by their names in the result. */
export const QUESTIONS: Readonly<
  Record<string, { readonly path: string; readonly filters?: readonly object[] }>
> = {
  metrics: { path: 'metrics' },
  pages: { path: 'pages' },
  'pages/entry_exit': { path: 'pages/entry_exit' },
  referrer_name: { path: 'referrer_name' },
  country: { path: 'country' },
  browser_version: { path: 'browser_version' },
  'traffic/geo': { path: 'traffic/geo' },
  active_users: { path: 'active_users' },
  events: { path: 'events' },
  'events/names': { path: 'events/names' },
  sessions: { path: 'sessions' },
  'export/events': { path: 'export/events' },
  'metrics, one country': {
    path: 'metrics',
    filters: [{ name: 'country', operator: 'is', value: ['DE'] }],
  },
  'metrics, one source': {
    path: 'metrics',
    filters: [{ name: 'referrer_name', operator: 'is', value: ['Google'] }],
  },
  'active_users, one country': {
    path: 'active_users',
    filters: [{ name: 'country', operator: 'is', value: ['DE'] }],
  },
  'entry_exit, one country': {
    path: 'pages/entry_exit',
    filters: [{ name: 'country', operator: 'is', value: ['DE'] }],
  },
  'pages, one browser': {
    path: 'pages',
    filters: [{ name: 'browser', operator: 'is', value: ['Firefox'] }],
  },
};

/** Number of questions that are sent concurrently. */
export const AT_ONCE = 8;
const AT_ONCE_TURNS = 5;
const CARDS = [
  'metrics',
  'pages',
  'pages/entry_exit',
  'referrer_name',
  'country',
  'browser_version',
  'traffic/geo',
  'events/names',
];

/** A client that asks one host about one site. */
export interface Asker {
  readonly client: Client;
  readonly url: string;
  readonly site: string;
  readonly credential: Credential;
}

/** Warm times of a question. Times run from sending to the end of the answer, one question after the other. */
export interface TurnTimes {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly asked: number;
}

/** The same of one question in every state of the caches. */
export interface Timing extends TurnTimes {
  /** The first of all, with nothing in any cache. */
  readonly firstMs: number;
  /** With nothing in the caches of the store and of the machine's files. */
  readonly coldMs: number;
  /** Time until the last of eight concurrent questions is answered; p50. */
  readonly eightMs: number;
}

export interface TimingOptions extends TurnOptions {
  /** Empties the machine's caches of the data. */
  readonly makeCold: () => Promise<unknown>;
}

export interface TurnOptions {
  readonly turns: number;
  /** Fewer repetitions when they take longer than this together. */
  readonly turnsMaxMs: number;
  /** Runs before each repetition. */
  readonly pauseMs: number;
}

/** One answer; throws with the reason when it is not 200. `live` has no range; `limit` is for lists. */
export async function ask(
  asker: Asker,
  name: string,
  range: RangeName | undefined,
  limit?: number,
): Promise<unknown> {
  const { path, filters } = QUESTIONS[name] ?? { path: name };
  const isExport = path.startsWith('export/');
  const parameters = new URLSearchParams(
    isExport ? exportedRange(asker.site, range) : range === undefined ? {} : { range },
  );
  if (filters !== undefined) parameters.set('filters', JSON.stringify(filters));
  if (limit !== undefined) parameters.set('limit', String(limit));
  const answer = await asker.client.get(
    `${asker.url}/${isExport ? path : `insights/${asker.site}/${path}`}?${parameters}`,
    asker.credential,
  );
  if (answer.status !== 200) throw new Error(rejectOf(answer));
  return answer.body;
}

/** An export names its site, and has no names for ranges. */
function exportedRange(projectId: string, range: RangeName | undefined): Record<string, string> {
  if (range === undefined) return { projectId };
  const { fromMs, toMs } = rangeNow(range).span;
  return { projectId, start: new Date(fromMs).toISOString(), end: new Date(toMs).toISOString() };
}

/** Resolves once a short question is answered, or after a minute. */
export async function answeringAgain(asker: Asker): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (performance.now() < endMs) {
    try {
      await ask(asker, 'country', '30min');
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 1_000)); // The next question reports the problem itself when
      // it persists.
    }
  }
}

/** Measures a question's first request, repeated requests, cold requests, and eight concurrent ones. Throws like `ask`. */
export async function timeQuestion(
  asker: Asker,
  name: string,
  range: RangeName,
  options: TimingOptions,
): Promise<Timing> {
  const once = () => ask(asker, name, range);
  await options.makeCold();
  const firstMs = await timed(once);
  const warm = await timeTurns(once, options);
  await options.makeCold();
  const coldMs = await timed(once);
  const fewer = { ...options, turns: Math.min(options.turns, AT_ONCE_TURNS) };
  const eight = await timeTurns(() => Promise.all(Array.from({ length: AT_ONCE }, once)), fewer);
  return { ...warm, firstMs: rounded(firstMs), coldMs: rounded(coldMs), eightMs: eight.p50Ms };
}

/** Eight different questions together, like a dashboard asks them; until the last one is answered. */
export function timeCards(asker: Asker, range: RangeName, options: TurnOptions): Promise<TurnTimes> {
  return timeTurns(() => Promise.all(CARDS.map((name) => ask(asker, name, range))), options);
}

/** Runs something a number of times, at least once. */
export async function timeTurns(
  run: () => Promise<unknown>,
  { turns, turnsMaxMs, pauseMs }: TurnOptions,
): Promise<TurnTimes> {
  const times: number[] = [];
  const endMs = performance.now() + turnsMaxMs;
  while (times.length < turns && (times.length === 0 || performance.now() < endMs)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    times.push(await timed(run));
  }
  return {
    p50Ms: rounded(percentile(times, 0.5)),
    p95Ms: rounded(percentile(times, 0.95)),
    asked: times.length,
  };
}

/** Empties the store's caches of marks, primary indexes and conditions. */
export async function emptyStoreCaches(store: Store): Promise<void> {
  for (const cache of ['MARK', 'INDEX MARK', 'PRIMARY INDEX', 'UNCOMPRESSED', 'QUERY CONDITION']) {
    await store.command(`SYSTEM DROP ${cache} CACHE`);
  }
}

/** Empties the machine's file cache, which needs root; returns whether that was permitted. */
export function emptyFileCache(): boolean {
  try {
    execFileSync('sync');
    writeFileSync('/proc/sys/vm/drop_caches', '1');
    return true;
  } catch {
    return false; // The result says that the files were warm.
  }
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await run();
  return performance.now() - startedMs;
}
