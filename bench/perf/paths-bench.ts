import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../../infra/assert.ts';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { projectRoot } from '../../infra/root.ts';
import { Store } from '../../infra/store/store.ts';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { Client, rejectOf } from '../cluster/client.ts';
import { DATABASE } from '../cluster/cluster.ts';
import { LARGE_SITE_HOST, type LargeSiteOptions, startLargeSite, untilFinalized } from './large-site.ts';
import {
  type Asker,
  answeringAgain,
  emptyFileCache,
  emptyStoreCaches,
  type TurnOptions,
  timeTurns,
} from './query-questions.ts';
import { rangeNow } from './raw-scan.ts';
import { type Finding, rounded, type Table } from './results.ts';

const ANSWER_MAX_MS = 130_000;
/** Longer than an answer from the processors is shared, so every question pays for its own. */
const PAUSE_MS = 110;
const WEEKS = 12;
const WINDOW_HOURS = 24;
const STEPS = [SCREEN_VIEW, 'link_out', 'button_click', 'form_submit'];
const PROFILES = 1_000_000;
const TINY_PROFILES = 1_000;

/** A question: its paths below the site, asked together; and the goal at p95, in milliseconds. */
interface PathQuestion {
  readonly paths: readonly string[];
  readonly p95MaxMs?: number;
}

const FUNNEL = `funnel?${new URLSearchParams({ steps: JSON.stringify(STEPS), windowHours: String(WINDOW_HOURS) })}`;
const funnelOf = (range: string, groupBy = 'session_id') => `${FUNNEL}&groupBy=${groupBy}&range=${range}`;
/** A profile that has sessions. */
const PERSON = 'profiles/user-7';

const QUESTIONS: Readonly<Record<string, PathQuestion>> = {
  'funnel 7d': { paths: [funnelOf('7d')] },
  'funnel 30d': { paths: [funnelOf('30d')], p95MaxMs: 700 },
  'funnel 30d, by visitor': { paths: [funnelOf('30d', 'profile_id')], p95MaxMs: 700 },
  'funnel 3m': { paths: [funnelOf('3m')] },
  'funnel 12m': { paths: [funnelOf('12m')] },
  'retention, 12 weeks': { paths: ['retention'], p95MaxMs: 1_500 },
  'retention/cohort, 12 weeks': { paths: ['retention/cohort?interval=week'], p95MaxMs: 1_500 },
  'engagement 30d': { paths: ['engagement?range=30d'] },
  'user_flow 30d': { paths: ['user_flow?range=30d'], p95MaxMs: 1_000 },
  'user_flow 12m': { paths: ['user_flow?range=12m'] },
  'a page of a profile': {
    paths: [PERSON, `${PERSON}/sessions`, `${PERSON}/metrics`],
    p95MaxMs: 100,
  },
  'profiles, newest': { paths: ['profiles'] },
  'profiles, search by name': { paths: ['profiles?search=family4321'], p95MaxMs: 300 },
  'profiles, search by e-mail': { paths: ['profiles?search=user77@example'], p95MaxMs: 300 },
};

/**
 * Question: how long does a site with a year of history wait for answers about paths and people, and how long do the store's
 * own functions for funnels and retention take over plain events?
 *
 * The site is the one of `query`, with a document for each of a million profiles. Warm questions follow each other with a pause;
 * cold ones are asked with empty caches of the store and, where that is permitted, of the machine's files. The store's functions
 * get the same events straight from the store, without hot rows, filters, or the events between two steps.
 *
 * Not compared: questions during ingestion, other machines' stores.
 */
export async function pathsBench(options: LargeSiteOptions): Promise<Finding> {
  const { isTiny } = options;
  const { loaded, isReused, ...started } = await startLargeSite(options, { QUERY_TIME_MAX_MS: '120000' });
  await using cluster = started.cluster;
  await cluster.ready(LARGE_SITE_HOST);
  const store = new Store({ url: cluster.storeUrl, database: DATABASE, requestTimeoutMs: ANSWER_MAX_MS });
  const { projectId: site, clients } = cluster.credentials;
  const client = new Client(8, ANSWER_MAX_MS);
  try {
    await addProfiles(store, { site, endMs: loaded.endMs, profiles: isTiny ? TINY_PROFILES : PROFILES });
    const settled = await untilFinalized(store, loaded, isTiny);
    const filesCold = !isTiny && emptyFileCache();
    const asker: Asker = { client, url: cluster.url(LARGE_SITE_HOST), site, credential: clients.read };
    const timing: TurnOptions = {
      turns: isTiny ? 1 : 20,
      turnsMaxMs: 30_000,
      pauseMs: isTiny ? 0 : PAUSE_MS,
    };
    const { table, unanswered } = await askAll(asker, timing, async () => {
      await emptyStoreCaches(store);
      if (filesCold) emptyFileCache();
    });
    const { anchors, contradicted } = await timeAnchors(asker, store, timing);
    return finding({
      config: {
        events: loaded.events,
        sessions: loaded.sessions,
        seed: loaded.seed,
        isReused,
        ...settled,
        filesCold,
      },
      table,
      anchors,
      unanswered,
      contradicted,
    });
  } finally {
    client.close();
    await store.close();
  }
}

/** Adds the documents of profiles, unless the site has them from an earlier run. */
async function addProfiles(
  store: Store,
  { site, endMs, profiles }: { readonly site: string; readonly endMs: number; readonly profiles: number },
): Promise<void> {
  const [row] = await store.query<{ profiles: number }>(
    'SELECT count() AS profiles FROM profiles WHERE projectId = {site:String}',
    { site },
  );
  if (Number(row?.profiles ?? 0) >= profiles) return;
  await store.command(sqlOf('site-profiles'), { site, endMs, profiles });
}

async function askAll(
  asker: Asker,
  timing: TurnOptions,
  makeCold: () => Promise<void>,
): Promise<{ readonly table: Table; readonly unanswered: readonly string[] }> {
  const table: Record<string, Record<string, number>> = {};
  const unanswered: string[] = [];
  for (const [name, { paths }] of Object.entries(QUESTIONS)) {
    process.stdout.write(`asking: ${name}\n`);
    const once = () => Promise.all(paths.map((path) => askPath(asker, path)));
    try {
      await makeCold();
      const { p50Ms: coldMs } = await timeTurns(once, { ...timing, turns: 1 });
      table[name] = { ...(await timeTurns(once, timing)), coldMs };
    } catch (error) {
      await answeringAgain(asker);
      unanswered.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { table, unanswered };
}

/** The store's own functions over the same events, and whether the funnel's answer agrees with them. */
async function timeAnchors(
  asker: Asker,
  store: Store,
  timing: TurnOptions,
): Promise<{ readonly anchors: Table; readonly contradicted: readonly string[] }> {
  const { span } = rangeNow('30d');
  const funnel = () =>
    store.query<{ readonly level: number; readonly sessions: number }>(sqlOf('raw-funnel'), {
      site: asker.site,
      from: span.fromMs,
      to: span.toMs,
      steps: STEPS,
      windowMs: WINDOW_HOURS * HOUR_MS,
    });
  const to = rangeNow('today').span.fromMs;
  const edges = Array.from({ length: WEEKS }, (_, week) => to - (WEEKS - week) * 7 * DAY_MS);
  const cohort = () =>
    store.query(sqlOf('raw-cohort'), {
      site: asker.site,
      from: must(edges[0], 'no week'),
      to,
      edges,
      synthetic: [SESSION_START, SESSION_END],
    });
  const anchors = {
    'windowFunnel 30d': { ...(await timeTurns(funnel, timing)) },
    'retention, 12 weeks': { ...(await timeTurns(cohort, timing)) },
  };
  const levels = await funnel();
  const expected = STEPS.map((_, step) =>
    levels.reduce((sum, { level, sessions }) => sum + (level > step ? Number(sessions) : 0), 0),
  );
  const { steps } = (await askPath(asker, funnelOf('30d'))) as {
    readonly steps: readonly { readonly users: number }[];
  };
  const users = steps.map((step) => step.users);
  const isSame = JSON.stringify(users) === JSON.stringify(expected);
  return {
    anchors,
    contradicted: isSame ? [] : [`funnel 30d: ${users.join(' ')}, not ${expected.join(' ')}`],
  };
}

/** One answer; throws with the reason when it is not 200. */
async function askPath({ client, url, site, credential }: Asker, path: string): Promise<unknown> {
  const answer = await client.get(`${url}/insights/${site}/${path}`, credential);
  if (answer.status !== 200) throw new Error(rejectOf(answer));
  return answer.body;
}

function sqlOf(name: string): string {
  return readFileSync(join(projectRoot, 'bench/perf/sql', `${name}.sql`), 'utf8');
}

function finding({
  config,
  table,
  anchors,
  unanswered,
  contradicted,
}: {
  readonly config: Finding['config'];
  readonly table: Table;
  readonly anchors: Table;
  readonly unanswered: readonly string[];
  readonly contradicted: readonly string[];
}): Finding {
  const goals = Object.entries(QUESTIONS).flatMap(([name, { p95MaxMs }]) => {
    const p95Ms = table[name]?.p95Ms;
    if (p95MaxMs === undefined || p95Ms === undefined) return [];
    return { isReached: p95Ms <= p95MaxMs, words: `${name}: p95 ms ${rounded(p95Ms)}, goal ${p95MaxMs}` };
  });
  const areReached = goals.every(({ isReached }) => isReached) && unanswered.length === 0;
  return {
    name: 'paths',
    config,
    figures: {},
    tables: { questions: table, 'the store’s own functions': anchors },
    verdict: contradicted.length > 0 ? 'invalid' : areReached ? 'reached' : 'missed',
    reasons: [
      ...goals.map(({ isReached, words }) => `${isReached ? 'reached' : 'missed '} ${words}`),
      ...contradicted.map((words) => `the store's own function contradicts the API: ${words}`),
      ...unanswered.map((words) => `not answered: ${words}`),
    ],
  };
}
