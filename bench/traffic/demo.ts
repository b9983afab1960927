import { readConfig } from '../../infra/config.ts';
import { exitWithParent } from '../../infra/process/parent-watch.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { type ModelStep, type ModelVisit, VisitorModel } from '../../ingest/testing/visitors.ts';
import { Questions } from '../cluster/answers.ts';
import { Client, rejectOf } from '../cluster/client.ts';
import { numberOption, readOptions, targetOf, UsageError } from '../cluster/options.ts';
import { requireService, startedCredentials } from './running-service.ts';
import { trackBody, trackHeaders } from './visit-request.ts';

const USAGE = `npm run demo -- [options]
  --rate N   events a second on average; default 10
  --url URL  the service; default: the one that the data folder's credentials name
  --site ID  the site; default: the credentials'
  --seed N   other visitors for another number; default: the time
`;
const VISITORS = 5_000;
// Short visits, so that a demo moves; a mean visit has about this many steps.
const DWELL_MS = 8_000;
const STEPS_PER_VISIT = 2.7;
const CONNECTIONS = 32;
const VISITS_MAX = 50_000;

/** Believable live traffic until it is stopped: visits begin at random and take their time from page to page. */
class Demo {
  readonly #client = new Client(CONNECTIONS);
  readonly #model: VisitorModel;
  readonly #random: SeededRandom;
  readonly #send: (client: Client, visit: ModelVisit, step: ModelStep, isFirst: boolean) => Promise<string>;
  readonly #rejected = new Map<string, number>();
  #visits = 0;
  #accepted = 0;
  #stopped = false;

  constructor(
    seed: number,
    send: (client: Client, visit: ModelVisit, step: ModelStep, isFirst: boolean) => Promise<string>,
  ) {
    this.#model = new VisitorModel(seed, VISITORS);
    this.#random = new SeededRandom(seed + 1);
    this.#send = send;
  }

  async run(eventsPerSecond: number): Promise<void> {
    const visitEveryMs = (1_000 * STEPS_PER_VISIT) / eventsPerSecond;
    let nextMs = performance.now();
    while (!this.#stopped) {
      nextMs += this.#random.waitMs(visitEveryMs);
      const waitMs = nextMs - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      // A bound on visits in progress; above it, no new visit begins.
      if (this.#visits < VISITS_MAX) void this.#play(this.#model.nextVisit(DWELL_MS));
    }
    this.#client.close();
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Returns a line about the time since the last call. */
  takeLine(live: string): string {
    const rejected = [...this.#rejected].map(([reason, count]) => `, ${count}× ${reason}`).join('');
    const line = `${this.#accepted} events/s, ${this.#visits} visits in progress, ${live} live visitors${rejected}`;
    this.#accepted = 0;
    this.#rejected.clear();
    return line;
  }

  async #play(visit: ModelVisit): Promise<void> {
    this.#visits += 1;
    for (const [index, step] of visit.steps.entries()) {
      if (step.afterMs > 0) await new Promise((resolve) => setTimeout(resolve, step.afterMs));
      if (this.#stopped) break;
      const reject = await this.#send(this.#client, visit, step, index === 0).catch(() => 'no connection');
      if (reject === '') this.#accepted += 1;
      else this.#rejected.set(reject, (this.#rejected.get(reject) ?? 0) + 1);
    }
    this.#visits -= 1;
  }
}

async function main(args: readonly string[]): Promise<void> {
  exitWithParent();
  const options = readOptions(args, { values: ['--rate', '--url', '--site', '--seed'], flags: ['--help'] });
  if (options.flags.has('--help')) return void process.stdout.write(USAGE);
  if (options.rest.length > 0) throw new UsageError(USAGE);
  const credentials = startedCredentials(readConfig().DATA_DIR);
  const { url, site } = targetOf(options, credentials);
  await requireService(url);
  const { write, read } = credentials.clients;
  const demo = new Demo(numberOption(options, '--seed', Date.now()), async (client, visit, step, isFirst) => {
    const headers = trackHeaders(visit);
    const answer = await client.post(`${url}/track`, write, headers, trackBody(visit, step, isFirst));
    return answer.status === 200 ? '' : rejectOf(answer);
  });
  const asking = new Client(1);
  const questions = new Questions(asking, url, site, read);
  const timer = setInterval(() => {
    void questions
      .live()
      .then(String, () => 'unknown')
      .then((live) => {
        process.stdout.write(`${new Date().toISOString().slice(11, 19)}  ${demo.takeLine(live)}\n`);
      });
  }, 1_000);
  process.once('SIGINT', () => demo.stop());
  process.once('SIGTERM', () => demo.stop());
  await demo.run(numberOption(options, '--rate', 10));
  clearInterval(timer);
  asking.close();
  // Visits that wait for their next step need not finish.
  process.exit(0);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
});
