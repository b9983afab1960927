import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';
import { numberOption, readOptions, UsageError } from '../cluster/options.ts';
import type { ChaosFault } from './fault.ts';
import { FAULTS } from './faults.ts';
import { runChaos } from './run.ts';

const USAGE = `npm run chaos -- [options]
  lets processes of a whole service die and hang, networks, clocks and disks fail, all under load, and compares what is stored with what was acknowledged
  --minutes N  default 5
  --seed S     decides the order of the faults; default: another one each time
  --only TEXT  only faults whose name contains it; may be repeated
  --save       writes the result to bench/results/chaos.json
`;
const MINUTES = 5;

/** The program behind `npm run chaos`. */
async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args, {
    values: ['--minutes', '--seed'],
    lists: ['--only'],
    flags: ['--save', '--help'],
  });
  if (options.flags.has('--help') || options.rest.length > 0) throw new UsageError(USAGE);
  const minutes = numberOption(options, '--minutes', MINUTES);
  const seed = numberOption(options, '--seed', Date.now() % 1_000_000);
  const wanted = options.lists.get('--only') ?? [''];
  const chosen = FAULTS.filter(({ name }) => wanted.some((text) => name.includes(text)));
  if (chosen.length === 0) throw new UsageError(`--only: no fault has this name, but\n  ${namesOf(FAULTS)}`);
  // Exiting ends the processes that the run started, and its network and disks.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const startMs = performance.now();
  const say = (line: string) => {
    const seconds = String(Math.round((performance.now() - startMs) / 1_000)).padStart(5);
    process.stdout.write(`${seconds} s  ${line}\n`);
  };
  say(`seed ${seed}, ${minutes} minutes`);
  const report = await runChaos({
    seed,
    faults: chosen,
    enough: (_, elapsedMs) => elapsedMs > minutes * 60_000,
    say,
  });
  const { faults, closings, resent, books, isRight } = report;
  for (const [name, count] of Object.entries(faults)) say(`${String(count).padStart(4)} × ${name}`);
  say(
    `${books.acknowledged} acknowledged, ${books.stored} stored in ${books.sessions} sessions; ${resent} sent again; books closed ${closings} times`,
  );
  for (const difference of books.differences) say(difference);
  say(isRight ? 'nothing lost, nothing twice' : `WRONG; repeat with --seed ${seed}`);
  if (options.flags.has('--save')) {
    const folder = join(projectRoot, 'bench/results');
    mkdirSync(folder, { recursive: true });
    const result = {
      name: 'chaos',
      atIso: new Date().toISOString(),
      node: process.version,
      minutes,
      ...report,
    };
    writeFileSync(join(folder, 'chaos.json'), `${JSON.stringify(result, undefined, 2)}\n`);
  }
  process.exitCode = isRight ? 0 : 1;
}

function namesOf(faults: readonly ChaosFault[]): string {
  return faults.map(({ name }) => name).join('\n  ');
}

// The run adds a listener for each process that it ends with itself.
process.setMaxListeners(0);
main(process.argv.slice(2)).catch((error: unknown) => {
  const isUsage = error instanceof UsageError;
  const text = error instanceof Error ? (isUsage ? error.message : error.stack) : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = isUsage ? 2 : 1;
});
