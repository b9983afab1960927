import { resolve } from 'node:path';
import { countOption, numberOption, readOptions, UsageError } from './cluster/options.ts';
import { serveEcho } from './perf/echo.ts';
import { exportBench } from './perf/export-bench.ts';
import { ingestBench } from './perf/ingest-bench.ts';
import { pipelineBench } from './perf/pipeline-bench.ts';
import { queryBench } from './perf/query-bench.ts';
import { type Finding, report } from './perf/results.ts';
import { sessionMemoryBench } from './perf/session-memory.ts';

const USAGE = `npm run bench -- NAME [--seconds N] [--events N] [--data D] [--tiny]
  ingest    durable POST /track against a bare JSON echo
  pipeline  CPU time of an event through all processes; then \`sessions\`
  sessions  memory of an open session, and restart with many of them
  query     questions about a year of a large site, against scans of its events; bytes per event; live
  export    all events of that site in each format, against the store's own; deep pages; memory
  --events N   query, export: how many events the site has, such as 20M; default 20M
  --data D     query, export: keeps the site in the folder D, and uses the one that is there
  --seconds N  length of one stretch of load; default 5
  --profile D  writes a CPU profile of every program of ours to the folder D; the figures then count for nothing
  --tiny       just enough to see that it works; writes no result
`;

async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args, {
    values: ['--seconds', '--profile', '--events', '--data'],
    flags: ['--tiny', '--help'],
  });
  const [name = ''] = options.rest;
  // The benchmark itself starts this, as a process of its own.
  if (name === 'echo') return serveEcho();
  const isTiny = options.flags.has('--tiny');
  const seconds = numberOption(options, '--seconds', isTiny ? 1 : 5);
  const profile = options.values.get('--profile');
  const nodeArguments = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`];
  const findings = {
    ingest: () =>
      ingestBench({
        secondsPerTurn: seconds,
        turns: isTiny ? 1 : 3,
        connections: isTiny ? 8 : 256,
        requests: isTiny ? 400 : 20_000,
        nodeArguments,
      }),
    pipeline: () =>
      pipelineBench({
        seconds: seconds * (isTiny ? 1 : 2),
        offeredPerSec: isTiny ? 100 : 2_000,
        connections: isTiny ? 8 : 256,
        requests: isTiny ? 400 : 20_000,
        nodeArguments,
      }),
    query: () =>
      queryBench({
        events: countOption(options, '--events', isTiny ? 50_000 : 20_000_000),
        data: options.values.get('--data'),
        isTiny,
        secondsPerTurn: seconds,
        nodeArguments,
      }),
    export: () =>
      exportBench({
        events: countOption(options, '--events', isTiny ? 50_000 : 20_000_000),
        data: options.values.get('--data'),
        isTiny,
        nodeArguments,
      }),
    sessions: () => sessionMemoryBench({ devices: isTiny ? 2_000 : 1_000_000 }),
  };
  const named: Readonly<Record<string, readonly (() => Promise<Finding>)[]>> = {
    ingest: [findings.ingest],
    pipeline: [findings.pipeline, findings.sessions],
    sessions: [findings.sessions],
    query: [findings.query],
    export: [findings.export],
  };
  const chosen = Object.hasOwn(named, name) ? (named[name] ?? []) : [];
  // Exiting ends the processes that the benchmark started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  if (chosen.length === 0 || options.flags.has('--help')) throw new UsageError(USAGE);
  for (const find of chosen) {
    const finding = await find();
    report(finding, isTiny || profile !== undefined);
    if (finding.verdict === 'invalid') process.exitCode = 1;
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const isUsage = error instanceof UsageError;
  const text = error instanceof Error ? (isUsage ? error.message : error.stack) : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = isUsage ? 2 : 1;
});
