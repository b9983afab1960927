import { HOUR_MS } from '../../infra/durations.ts';
import { Store } from '../../infra/store/store.ts';
import type { RangeName } from '../../query/time/range.ts';
import { Client } from '../cluster/client.ts';
import { DATABASE } from '../cluster/cluster.ts';
import { LARGE_SITE_HOST, type LargeSiteOptions, startLargeSite, untilFinalized } from './large-site.ts';
import { liveTurns } from './live-turns.ts';
import { addNeighbour, besideLongQuestions } from './neighbour.ts';
import { queryGoals } from './query-goals.ts';
import {
  type Asker,
  AT_ONCE,
  answeringAgain,
  ask,
  emptyFileCache,
  emptyStoreCaches,
  QUESTIONS,
  type TimingOptions,
  type TurnOptions,
  timeCards,
  timeQuestion,
  timeTurns,
} from './query-questions.ts';
import { clientIds, type LoadedSite } from './query-site.ts';
import { agrees, RAW_QUESTIONS, type RawQuestion, rangeNow, scanRaw } from './raw-scan.ts';
import { type Finding, rounded, type Table } from './results.ts';

export interface QueryBenchOptions extends LargeSiteOptions {
  readonly secondsPerTurn: number;
}

/** With these a list is compared, not timed. */
const COMPARED_ROWS = 1_000;
const SHOWN_ROWS = 10;
const ANSWER_MAX_MS = 130_000;
const RAW_MAX_S = 60;
/** Longer than an answer from the processors is shared, so every question pays for its own. */
const PAUSE_MS = 110;

interface AskedRange {
  readonly title: string;
  readonly range: RangeName;
  readonly turns: number;
  readonly rawTurns: number;
}

const RANGES: readonly AskedRange[] = [
  { title: '24h', range: 'last24h', turns: 20, rawTurns: 5 },
  { title: '30d', range: '30d', turns: 20, rawTurns: 5 },
  { title: '12m', range: '12m', turns: 20, rawTurns: 1 },
];

interface Asked {
  readonly tables: Readonly<Record<string, Table>>;
  readonly unanswered: readonly string[];
  readonly contradicted: readonly string[];
}

/**
 * Question: how long does a site with a year of history wait for an answer, over HTTP, from the service as it ships;
 * how much faster is this than reading the events; how many bytes does an event take; and how many may watch the live
 * number? The site is made inside the store (`made-visits.ts`) and has no visitors meanwhile.
 *
 * Cold is the first question after the store's caches were emptied, and the machine's file cache where that is
 * permitted (`filesCold`); the programs themselves stay warm. Warm questions follow each other with a pause, so
 * none shares another's fetch from the processors. The raw scan goes straight to the store, without our HTTP in front.
 *
 * A second site without visitors is asked about, too, by itself and while long questions take all permits of the first.
 *
 * Not compared: questions during ingestion, other machines' stores.
 */
export async function queryBench(options: QueryBenchOptions): Promise<Finding> {
  const { isTiny } = options;
  const env = { QUERY_TIME_MAX_MS: '120000' };
  const { plan, loaded, isReused, ...started } = await startLargeSite(options, env, addNeighbour);
  await using cluster = started.cluster;
  await cluster.ready(LARGE_SITE_HOST);
  const store = new Store({ url: cluster.storeUrl, database: DATABASE, requestTimeoutMs: ANSWER_MAX_MS });
  const client = new Client(AT_ONCE, ANSWER_MAX_MS);
  try {
    const settled = await untilFinalized(store, loaded, isTiny);
    const size = await storedSize(store, loaded.acknowledged);
    const { projectId, clients } = cluster.credentials;
    const asker: Asker = {
      client,
      url: cluster.url(LARGE_SITE_HOST),
      site: projectId,
      credential: clients.read,
    };
    const filesCold = !isTiny && emptyFileCache();
    const asked = await askAll(asker, store, { isTiny, filesCold });
    const live = await liveTurns(cluster, {
      host: LARGE_SITE_HOST,
      secondsPerTurn: options.secondsPerTurn,
      turns: isTiny ? 1 : 3,
      connections: isTiny ? 8 : 64,
      clientIds: clientIds(plan.clients),
    });
    process.stdout.write('asking about a neighbour, alone and beside long questions\n');
    const neighbour = await besideLongQuestions(cluster, {
      host: LARGE_SITE_HOST,
      turns: { turns: isTiny ? 3 : 40, turnsMaxMs: 60_000, pauseMs: PAUSE_MS },
    });
    const state = { isReused, ...settled, filesCold };
    return finding(loaded, state, { asked, size, live, neighbour });
  } finally {
    client.close();
    await store.close();
  }
}

/** Every question of every range, and the raw scan beside those that have one. */
async function askAll(
  asker: Asker,
  store: Store,
  { isTiny, filesCold }: { readonly isTiny: boolean; readonly filesCold: boolean },
): Promise<Asked> {
  const tables: Record<string, Table> = {};
  const cards: Record<string, Record<string, number>> = {};
  const unanswered: string[] = [];
  const contradicted: string[] = [];
  const makeCold = async () => {
    await emptyStoreCaches(store);
    if (filesCold) emptyFileCache();
  };
  for (const { title, range, turns, rawTurns } of RANGES) {
    process.stdout.write(`asking about ${title}\n`);
    const rows: Record<string, Record<string, number>> = {};
    const pauseMs = isTiny ? 0 : PAUSE_MS;
    const timing: TimingOptions = { makeCold, turns: isTiny ? 1 : turns, turnsMaxMs: 30_000, pauseMs };
    const rawTiming: TurnOptions = { turns: isTiny ? 1 : rawTurns, turnsMaxMs: RAW_MAX_S * 1_000, pauseMs };
    for (const name of Object.keys(QUESTIONS)) {
      try {
        const times = await timeQuestion(asker, name, range, timing);
        rows[name] = { ...times };
        if (!isRaw(name)) continue;
        if (!(await isSame(asker, store, name, range))) contradicted.push(`${title} ${name}`);
        const raw = await timeRaw(asker, store, { question: name, name: range }, rawTiming);
        if (raw === undefined) continue;
        const { p50Ms, p95Ms } = times;
        Object.assign(rows[name], {
          rawP50Ms: raw,
          'raw/p50': rounded(raw / p50Ms),
          'raw/p95': rounded(raw / p95Ms),
        });
      } catch (error) {
        // The rest of a question that took too long must not disturb the next one.
        await answeringAgain(asker);
        unanswered.push(`${title} ${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    tables[title] = rows;
    cards[title] = { ...(await timeCards(asker, range, timing)) };
  }
  tables['eight cards at once'] = cards;
  return { tables, unanswered, contradicted };
}

function isRaw(name: string): name is RawQuestion {
  return (RAW_QUESTIONS as readonly string[]).includes(name);
}

/** True if the raw scan and the API agree, or if the scan did not finish. */
async function isSame(asker: Asker, store: Store, question: RawQuestion, name: RangeName): Promise<boolean> {
  for (;;) {
    const range = rangeNow(name);
    const limit = question === 'metrics' ? undefined : COMPARED_ROWS;
    const answer = await ask(asker, question, name, limit);
    // A question asked as the hour or the day changed may be about another range.
    if (rangeNow(name).span.toMs !== range.span.toMs) continue;
    const scan = { store, site: asker.site, question, range, limit: COMPARED_ROWS, secondsMax: RAW_MAX_S };
    const raw = await scanRaw(scan);
    return raw === undefined || agrees(question, answer, raw);
  }
}

/** The median; undefined when the scan does not finish. */
async function timeRaw(
  asker: Asker,
  store: Store,
  { question, name }: { readonly question: RawQuestion; readonly name: RangeName },
  timing: TurnOptions,
): Promise<number | undefined> {
  const range = rangeNow(name);
  const scan = { store, site: asker.site, question, range, limit: SHOWN_ROWS, secondsMax: RAW_MAX_S };
  let isDone = true;
  const { p50Ms } = await timeTurns(async () => {
    if (isDone) isDone = (await scanRaw(scan)) !== undefined;
  }, timing);
  return isDone ? p50Ms : undefined;
}

/** Bytes on disk for each event of a client, by table, synthetic events and sessions included. */
async function storedSize(store: Store, acknowledged: number) {
  const sizes = await store.query<{ table: string; bytes: number; parts: number }>(
    `SELECT table, sum(bytes_on_disk) AS bytes, count() AS parts FROM system.parts
     WHERE active AND database = currentDatabase() GROUP BY table ORDER BY bytes DESC`,
  );
  const all = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  const figures = sizes.map(({ table, bytes }): [string, number] => [table, rounded(bytes / acknowledged)]);
  const [ids] = await store.query<{ bytes: number }>(
    `SELECT sum(column_data_compressed_bytes) AS bytes FROM system.parts_columns
     WHERE active AND database = currentDatabase() AND table = 'events' AND column = 'eventId'`,
  );
  const bytesPerEvent: Record<string, number> = {
    all: rounded(all / acknowledged),
    ...Object.fromEntries(figures),
    'events, of it ids of clients': rounded((ids?.bytes ?? 0) / acknowledged),
  };
  // A smaller part of the values gets a smaller limit.
  const activeDeps = Object.fromEntries(sizes.map(({ table, parts }): [string, number] => [table, parts]));
  return { bytesPerEvent, activeDeps };
}

function finding(
  loaded: LoadedSite,
  state: Readonly<Record<'isReused' | 'isCalm' | 'isRolledUp' | 'filesCold', boolean>>,
  found: {
    readonly asked: Asked;
    readonly size: Awaited<ReturnType<typeof storedSize>>;
    readonly live: Awaited<ReturnType<typeof liveTurns>>;
    readonly neighbour: Table;
  },
): Finding {
  const { asked, size, live, neighbour } = found;
  const goals = queryGoals(asked.tables, { perEvent: size.bytesPerEvent.all, liveRatio: live.ratio });
  const isValid = asked.contradicted.length === 0 && live.failed === 0;
  const areReached = goals.every(({ isReached }) => isReached) && asked.unanswered.length === 0;
  return {
    name: 'query',
    config: {
      events: loaded.events,
      acknowledged: loaded.acknowledged,
      sessions: loaded.sessions,
      seed: loaded.seed,
      loadSeconds: loaded.loadSeconds,
      dataAgeHours: Math.floor((Date.now() - loaded.endMs) / HOUR_MS),
      ...state,
    },
    figures: { ...size, ...live.figures },
    tables: { ...asked.tables, neighbour },
    verdict: !isValid ? 'invalid' : areReached ? 'reached' : 'missed',
    reasons: [
      ...goals.map((goal) => `${goal.isReached ? 'reached' : 'missed '} ${goal.words}`),
      ...asked.contradicted.map((name) => `the raw scan contradicts the API: ${name}`),
      ...asked.unanswered.map((words) => `not answered: ${words}`),
      ...(live.failed > 0 ? [`${live.failed} requests failed`] : []),
      ...(state.isCalm ? [] : ['the store still merged when it was asked']),
    ],
  };
}
