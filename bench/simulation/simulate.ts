import { numberOption, readOptions, UsageError } from '../cluster/options.ts';
import { MISTAKES } from './mistakes.ts';
import { FAULTS_TO_SEE, runSchedule, type ScheduleOutcome } from './schedule.ts';

const USAGE = `npm run simulate -- [options]
  runs owners of lanes on a simulated bus and store in virtual time, one seeded schedule after the other, and checks that nothing is lost or twice
  --seconds N     how long; default 60
  --from S        the first seed; default: another one each time
  --seed S        this one alone, with its trace
  --mistake NAME  with a mistake planted: ${Object.keys(MISTAKES).join(', ')}
`;
const SECONDS = 60;
const PROGRESS_EVERY_MS = 5_000;
const BROKEN_MAX = 20;

const say = (line: string) => process.stdout.write(`${line}\n`);

/** The program behind `npm run simulate`. */
async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args, {
    values: ['--seconds', '--from', '--seed', '--mistake'],
    lists: [],
    flags: ['--help'],
  });
  if (options.flags.has('--help') || options.rest.length > 0) throw new UsageError(USAGE);
  const name = options.values.get('--mistake');
  const planted = name === undefined ? {} : MISTAKES[name];
  if (planted === undefined) throw new UsageError(USAGE);
  const only = options.values.has('--seed') ? numberOption(options, '--seed', 0) : undefined;
  if (only !== undefined) {
    const outcome = await runSchedule(only, { mistakes: planted, onStep: (line) => say(line()) });
    say(`seed ${only}, hash ${outcome.hash}, ${outcome.steps} steps`);
    say(outcome.broken === undefined ? 'every law held' : (outcome.broken.stack ?? outcome.broken.message));
    process.exitCode = outcome.broken === undefined ? 0 : 1;
    return;
  }
  const from = numberOption(options, '--from', Date.now() % 1_000_000_000);
  const report = new SimulationReport();
  const endMs = performance.now() + 1_000 * numberOption(options, '--seconds', SECONDS);
  for (let seed = from; performance.now() < endMs && report.broken < BROKEN_MAX; seed += 1) {
    const outcome = await runSchedule(seed, { mistakes: planted });
    report.take(outcome);
    if (outcome.broken === undefined) continue;
    say(`seed ${seed}: ${outcome.broken.message}`);
    say(`  repeat with: npm run simulate -- --seed ${seed}${name === undefined ? '' : ` --mistake ${name}`}`);
  }
  report.end(from);
  process.exitCode = report.broken === 0 ? 0 : 1;
}

/** Adds up the occurrences, and prints them. */
class SimulationReport {
  readonly #startMs = performance.now();
  readonly #happened = new Map<string, number>();
  #schedules = 0;
  #steps = 0;
  #nextMs = PROGRESS_EVERY_MS;
  broken = 0;

  take({ happened, steps, broken }: ScheduleOutcome): void {
    for (const [what, times] of happened) this.#happened.set(what, (this.#happened.get(what) ?? 0) + times);
    this.#schedules += 1;
    this.#steps += steps;
    if (broken !== undefined) this.broken += 1;
    const elapsedMs = performance.now() - this.#startMs;
    if (elapsedMs < this.#nextMs) return;
    this.#nextMs = elapsedMs + PROGRESS_EVERY_MS;
    say(`${Math.round(elapsedMs / 1_000)} s: ${this.#schedules} schedules, ${this.#perMinute()} a minute`);
  }

  end(from: number): void {
    for (const [what, times] of [...this.#happened].sort()) say(`${String(times).padStart(8)} × ${what}`);
    for (const what of FAULTS_TO_SEE) if (!this.#happened.has(what)) say(`NOT SEEN: ${what}`);
    say(
      `${this.#schedules} schedules from seed ${from}, ${this.#steps} steps, ${this.#perMinute()} schedules a minute; ${this.broken === 0 ? 'every law held' : `${this.broken} broke a law`}`,
    );
  }

  #perMinute(): number {
    return Math.round((this.#schedules / (performance.now() - this.#startMs)) * 60_000);
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const isUsage = error instanceof UsageError;
  const text = error instanceof Error ? (isUsage ? error.message : error.stack) : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = isUsage ? 2 : 1;
});
