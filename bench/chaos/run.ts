import { must } from '../../infra/assert.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { Cluster } from '../cluster/cluster.ts';
import { type Audit, audit, type Outage } from '../faults/audit.ts';
import { Ledger } from '../traffic/ledger.ts';
import { Traffic } from '../traffic/traffic.ts';
import { type ChaosFault, FAULTS } from './faults.ts';
import { calm, PROCESSORS, until, WEB } from './ground.ts';

export interface ChaosOptions {
  readonly seed: number;
  /** Whether the run, after so many faults and so much time, has had enough. */
  readonly enough: (faults: number, elapsedMs: number) => boolean;
  readonly say: (line: string) => void;
}

/** What a run found. */
export interface ChaosReport {
  readonly seed: number;
  /** How often each fault happened. */
  readonly faults: Readonly<Record<string, number>>;
  /** How often the books were closed, the last time at the end. */
  readonly closings: number;
  readonly resent: number;
  /** The books at the end, or where they were wrong first. */
  readonly books: Audit;
  /** Whether everything acknowledged is stored once, without any difference. */
  readonly isRight: boolean;
}

/** After a fault, owners and collectors find each other again within this time. */
const SETTLES_MS = 4_000;
/** Between two closings of the books. */
const FAULTS_BETWEEN_CLOSINGS = 12;
const EVENTS_BETWEEN_FAULTS = 150;

/**
 * Lets one fault after the other happen to a service under load, in an order that the seed decides. Now and then, and at the end,
 * the senders stop and the books are closed: every acknowledged event is stored once and in the session that was answered, and
 * sessions, store and API agree. A run ends at the first difference.
 */
export async function runChaos({ seed, enough, say }: ChaosOptions): Promise<ChaosReport> {
  await using cluster = await Cluster.start({
    hosts: Object.fromEntries(WEB.map((name) => [name, ['ingest', 'query'] as const])),
    processors: PROCESSORS,
    withStore: true,
    busServers: 3,
    env: { WORKERS: '1', FLUSH_INTERVAL_MS: '100', PUBLISH_TIMEOUT_MS: '2500', QUERY_LIMIT_PER_10_S: '0' },
  });
  await calm(cluster);
  const random = new SeededRandom(seed);
  const startMs = performance.now();
  const happened = new Map<string, number>();
  const outages: Outage[] = [];
  let ledger = new Ledger();
  let order: ChaosFault[] = [];
  let faults = 0;
  for (let closings = 1; ; closings += 1) {
    const traffic = new Traffic(cluster, {
      seed: seed * 1_000 + closings,
      hosts: WEB,
      persistent: true,
      paceMs: 20,
    });
    await goesOn(traffic);
    for (let count = 0; count < FAULTS_BETWEEN_CLOSINGS; count += 1) {
      if (enough(faults, performance.now() - startMs)) break;
      // Every kind comes once before one comes again.
      if (order.length === 0) order = shuffled(FAULTS, random);
      const fault = must(order.pop(), 'a fault');
      const fromMs = Date.now();
      say(`${fault.name} …`);
      await fault.happen({ cluster, random });
      await calm(cluster);
      await goesOn(traffic);
      outages.push({ fromMs, untilMs: Date.now() + SETTLES_MS });
      happened.set(fault.name, (happened.get(fault.name) ?? 0) + 1);
      faults += 1;
      say(`${fault.name}: over after ${((Date.now() - fromMs) / 1_000).toFixed(1)} s`);
    }
    ledger = ledger.with([await traffic.stop()]);
    const books = await audit(cluster, ledger, must(WEB[0], 'a host'), outages);
    const isRight = books.differences.length === 0 && books.stored === books.acknowledged;
    say(
      `books closed: ${books.acknowledged} acknowledged, ${books.stored} stored, ${isRight ? 'right' : 'WRONG'}`,
    );
    if (!isRight || enough(faults, performance.now() - startMs))
      return { seed, faults: Object.fromEntries(happened), closings, resent: ledger.resent, books, isRight };
  }
}

function goesOn(traffic: Traffic): Promise<void> {
  const before = traffic.ledger.acknowledged.length;
  return until(
    'events are taken',
    async () => traffic.ledger.acknowledged.length > before + EVENTS_BETWEEN_FAULTS,
  );
}

function shuffled(faults: readonly ChaosFault[], random: SeededRandom): ChaosFault[] {
  return faults
    .map((fault) => ({ fault, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ fault }) => fault);
}
