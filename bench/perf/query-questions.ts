import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { Store } from '../../infra/store/store.ts';
import type { RangeName } from '../../query/time/range.ts';
import { type Client, type Credential, rejectOf } from '../cluster/client.ts';
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

/** A client that asks one host about one site. */
export interface Asker {
  readonly client: Client;
  readonly url: string;
  readonly site: string;
  readonly credential: Credential;
}

/** How long a question took. Times run from sending to the end of the answer, one question after the other. */
export interface Timing {
  readonly coldMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly asked: number;
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
  const parameters = new URLSearchParams(range === undefined ? {} : { range });
  if (filters !== undefined) parameters.set('filters', JSON.stringify(filters));
  if (limit !== undefined) parameters.set('limit', String(limit));
  const answer = await asker.client.get(
    `${asker.url}/insights/${asker.site}/${path}?${parameters}`,
    asker.credential,
  );
  if (answer.status !== 200) throw new Error(rejectOf(answer));
  return answer.body;
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

/** Asks once cold and then again and again. Throws as `ask` does. */
export async function timeQuestion(
  asker: Asker,
  name: string,
  range: RangeName,
  options: TimingOptions,
): Promise<Timing> {
  await options.makeCold();
  const coldMs = await timed(() => ask(asker, name, range));
  const warm = await timeTurns(() => ask(asker, name, range), options);
  return { coldMs: rounded(coldMs), ...warm };
}

/** Runs something a number of times, at least once. */
export async function timeTurns(
  run: () => Promise<unknown>,
  { turns, turnsMaxMs, pauseMs }: TurnOptions,
): Promise<Omit<Timing, 'coldMs'>> {
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
