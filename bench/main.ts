import { resolve } from 'node:path';
import { countOption, numberOption, type Options, readOptions, UsageError } from './cluster/options.ts';
import { runAttack } from './perf/attacks/run-attack.ts';
import { serveEcho } from './perf/echo.ts';
import { exportBench } from './perf/export-bench.ts';
import { ingestBench, LOAD_ROWS, type LoadRow, nameOfRow } from './perf/ingest-bench.ts';
import { liveBench } from './perf/live-bench.ts';
import { runLoadPlan } from './perf/load/generator.ts';
import { runViewers } from './perf/load/viewers.ts';
import { memoryBench } from './perf/memory-bench.ts';
import { neighbourBench } from './perf/neighbour-bench.ts';
import { overloadBench } from './perf/overload-bench.ts';
import { pathsBench } from './perf/paths-bench.ts';
import { pipelineBench } from './perf/pipeline-bench.ts';
import { queryBench } from './perf/query-bench.ts';
import { type Finding, report, showResults } from './perf/results.ts';
import { sessionMemoryBench } from './perf/session-memory.ts';
import { smallSiteBench } from './perf/small/small-site-bench.ts';
import { storeAwayBench } from './perf/store-away-bench.ts';
import { takeOverBench } from './perf/take-over-bench.ts';
import { variantsOf } from './perf/variants.ts';

const USAGE = `npm run bench -- NAME [options]
  ingest    the whole service as fast as it takes page views, against a bare JSON echo
  pipeline  the whole service at a fixed rate: CPU time and latency of an event; with default options then \`sessions\`
  sessions  memory of an open session, and restart with many of them
  live      ten thousand connections that watch a live number while events arrive: time, messages, CPU and memory
  overload  three times the events that the service can take, from sixteen thousand connections
  neighbour  what another team waits beside the worst that a tenant or strangers may do; --quick for a look
  memory    resident memory by process in a flood of new visitors, against what is stated
  query     questions about a year of a large site, against scans of its events; bytes per event; live
  paths     questions about paths and people of that site, with a million profiles, against the store's own functions
  export    all events of that site in each format, against the store's own; deep pages; memory
  take-over  how long questions wait when the processor that owns everything dies, hangs or is restarted beside another
  store-away  an hour without the store, while events come in; --seconds for less
  show      prints the results in bench/results, or the named ones: show ingest pipeline
  --seconds N  length of one stretch of load; default 10 for ingest, 30 for pipeline and live, else 5
  --profile D  writes a CPU profile of every program of ours to the folder D; the figures then count for nothing
  --quick      neighbour: a few seconds for each attack; writes no result
  --tiny       just enough to see that it works; writes no result
  --save NAME  writes the result to bench/results/NAME.json
ingest, pipeline:
  --env WORDS      NAME=VALUE is a setting of the service, node=PATH another Node; repeatable
  --compare WORDS  also measures a service that differs by such words, in turns; tree=DIR is another source tree; repeatable
  --only ROW       ingest: one row, such as 256x25000: connections x visitors; neighbour: one attack, by its name; repeatable
  --turns N        ingest: how often each row is measured, each time on a new service; default 3; take-over: default 12
  --rate N         pipeline: events a second, default 2000; live: default 10000
query, paths, export:
  --events N   how many events the site has, such as 20M; default 20M; query with at most 1M: a small site of 30 days
  --data D     keeps the site in the folder D, and uses the one that is there
`;

/** Sites up to this size are small: other questions are about them, see perf/README.md. A tiny run of the large site has a few events, too. */
const SMALL_EVENTS_MAX = 1_000_000;

/** With any of these options, a run differs from the one that a result file of its name records. */
const SPECIAL = ['--seconds', '--env', '--compare', '--only', '--turns', '--rate', '--profile'];

async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args, {
    values: ['--seconds', '--profile', '--events', '--data', '--turns', '--rate', '--save'],
    lists: ['--env', '--compare', '--only'],
    flags: ['--tiny', '--quick', '--help'],
  });
  const [name = '', ...names] = options.rest;
  // The benchmarks themselves start these, as processes of their own.
  if (name === 'echo') return serveEcho();
  if (name === 'load') return runLoadPlan(names[0] ?? '');
  if (name === 'viewers') return runViewers(names[0] ?? '');
  if (name === 'attack') return runAttack(names[0] ?? '');
  if (name === 'show') return showResults(names);
  const isTiny = options.flags.has('--tiny');
  const isQuick = options.flags.has('--quick');
  const profile = options.values.get('--profile');
  const findings = findingsOf(options, isTiny);
  const isSpecial = SPECIAL.some((option) => options.values.has(option) || options.lists.has(option));
  const named: Readonly<Record<string, readonly (() => Promise<Finding>)[]>> = {
    ingest: [findings.ingest],
    pipeline: isSpecial ? [findings.pipeline] : [findings.pipeline, findings.sessions],
    sessions: [findings.sessions],
    live: [findings.live],
    overload: [findings.overload],
    neighbour: [findings.neighbour],
    memory: [findings.memory],
    query: [findings.query],
    paths: [findings.paths],
    export: [findings.export],
    'take-over': [findings.takeOver],
    'store-away': [findings.storeAway],
  };
  const chosen = Object.hasOwn(named, name) ? (named[name] ?? []) : [];
  // Exiting ends the processes that the benchmark started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  if (chosen.length === 0 || options.flags.has('--help')) throw new UsageError(USAGE);
  const save = options.values.get('--save');
  for (const find of chosen) {
    const finding = await find();
    const isTrial = isTiny || isQuick || profile !== undefined || (isSpecial && save === undefined);
    report(finding, isTrial ? undefined : fileOf(finding.name, { of: name, save }));
    if (finding.verdict === 'invalid') process.exitCode = 1;
  }
}

/** `--save` names the result of the benchmark that was asked for; one that runs behind it keeps its own name. */
function fileOf(
  finding: string,
  { of, save }: { readonly of: string; readonly save: string | undefined },
): string {
  if (save === undefined) return finding;
  return finding === of || finding.startsWith(`${of}-`) ? save : `${save}-${finding}`;
}

function findingsOf(options: Options, isTiny: boolean) {
  const secondsOr = (fallback: number) => numberOption(options, '--seconds', isTiny ? 1 : fallback);
  const profile = options.values.get('--profile');
  const profileTo = profile === undefined ? undefined : resolve(profile);
  const nodeArguments = profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileTo}`];
  const list = (name: string) => options.lists.get(name) ?? [];
  const site = {
    events: countOption(options, '--events', isTiny ? 50_000 : 20_000_000),
    data: options.values.get('--data'),
    isTiny,
    nodeArguments,
  };
  return {
    ingest: () =>
      ingestBench({
        rows: isTiny ? [{ connections: 8, visitors: 200 }] : rowsOf(list('--only')),
        variants: variantsOf(list('--env'), list('--compare')),
        seconds: secondsOr(10),
        turns: countOption(options, '--turns', isTiny ? 1 : 3),
        profileTo,
        isTiny,
      }),
    pipeline: () =>
      pipelineBench({
        variants: variantsOf(list('--env'), list('--compare')),
        seconds: secondsOr(30),
        ratePerSec: countOption(options, '--rate', isTiny ? 100 : 2_000),
        connections: isTiny ? 8 : 256,
        visitors: isTiny ? 200 : 25_000,
        profileTo,
        isTiny,
      }),
    query: () => {
      const secondsPerTurn = secondsOr(5);
      const isSmall = options.values.has('--events') && site.events <= SMALL_EVENTS_MAX;
      if (isSmall) return smallSiteBench({ events: site.events, secondsPerTurn, isTiny, profileTo });
      return queryBench({ ...site, secondsPerTurn });
    },
    paths: () => pathsBench(site),
    export: () => exportBench(site),
    live: () =>
      liveBench({
        viewers: isTiny ? 50 : 10_000,
        ratePerSec: countOption(options, '--rate', isTiny ? 100 : 10_000),
        seconds: numberOption(options, '--seconds', isTiny ? 3 : 30),
        connections: isTiny ? 8 : 256,
        visitors: isTiny ? 200 : 25_000,
        isTiny,
      }),
    overload: () =>
      overloadBench({
        seconds: secondsOr(20),
        connections: isTiny ? 16 : 16_000,
        visitors: isTiny ? 200 : 25_000,
        isTiny,
      }),
    takeOver: () => takeOverBench({ turns: countOption(options, '--turns', isTiny ? 1 : 12), isTiny }),
    storeAway: () => storeAwayBench({ seconds: numberOption(options, '--seconds', isTiny ? 3 : 3_600) }),
    neighbour: () => {
      const isShort = isTiny || options.flags.has('--quick');
      return neighbourBench({
        seconds: numberOption(options, '--seconds', isTiny ? 0.3 : isShort ? 3 : 20),
        events: countOption(options, '--events', isTiny ? 10_000 : isShort ? 200_000 : 2_000_000),
        isTiny,
        only: list('--only'),
      });
    },
    memory: () =>
      memoryBench({
        variants: variantsOf(list('--env'), list('--compare')),
        pools: isTiny ? 1 : 6,
        visitorsPerPool: isTiny ? 200 : 50_000,
        seconds: secondsOr(12),
        connections: isTiny ? 8 : 256,
        idleSeconds: isTiny ? 1 : 45,
      }),
    sessions: () => sessionMemoryBench({ devices: isTiny ? 2_000 : 1_000_000 }),
  };
}

/** The chosen rows; all of them when none is. A row that is not in the table may be chosen, too. */
function rowsOf(names: readonly string[]): readonly LoadRow[] {
  if (names.length === 0) return LOAD_ROWS;
  return names.map((name) => {
    const [, connections, visitors] = /^(\d+)x(\d+)$/.exec(name) ?? [];
    if (connections === undefined || visitors === undefined)
      throw new UsageError(`--only ${name}: expected one such as ${LOAD_ROWS.map(nameOfRow).join(', ')}`);
    return { connections: Number(connections), visitors: Number(visitors) };
  });
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const isUsage = error instanceof UsageError;
  const text = error instanceof Error ? (isUsage ? error.message : error.stack) : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = isUsage ? 2 : 1;
});
