import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BusError } from '../../infra/bus/bus-error.ts';
import { systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { createLaneGauges } from '../../processor/lane/lane-metrics.ts';
import { LiveFeed } from '../../processor/lane/live-feed.ts';
import { WATCHED_FOR_MS } from '../../processor/live-numbers.ts';
import { ToldNumbers } from '../../query/snapshot/told-numbers.ts';

const SEEDS = 20;
const SILENT_MS = 1_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** An owner with random numbers on a bus that loses and delays, and nodes that ask. */
class LossyScene {
  readonly #random: SeededRandom;
  #listeners: ((bytes: Uint8Array) => void)[] = [];
  /** The numbers that each site had, and until when. */
  readonly #past = new Map<string, { readonly visitors: number; untilMs: number }[]>();
  #feed: LiveFeed | undefined;
  readonly nodes: readonly ToldNumbers[];
  known = 0;

  constructor(random: SeededRandom, nodes: number) {
    this.#random = random;
    for (const site of ['a', 'b', 'c']) this.set(site, 0);
    this.start();
    this.nodes = Array.from({ length: nodes }, () => {
      const bus = {
        ask: async (_subject: string, bytes: Uint8Array) => {
          await this.#delay();
          const answer = random.chance(0.1) ? undefined : await this.#feed?.watch(bytes);
          await this.#delay();
          if (answer === undefined) throw new BusError('nobody answers', 'no-responders', undefined);
          return answer;
        },
        listen: (_subject: string, listener: (bytes: Uint8Array) => void) => {
          this.#listeners.push(listener);
          return () => {};
        },
      };
      return new ToldNumbers({ bus, lanes: ServiceLanes.fixed(1), metrics: new Metrics() });
    });
  }

  start(): void {
    const owner = new LiveFeed({
      name: 0,
      bus: {
        broadcast: (_subject, bytes) => {
          // Each node loses messages independently, and hears the others in order.
          for (const listener of this.#listeners) if (!this.#random.chance(0.05)) listener(bytes);
        },
      },
      clock: systemClock,
      random: () => this.#random.below(1_000_000) / 1_000_000,
      log: createLogger('test', 'silent'),
      lane: 0,
      gauges: createLaneGauges(new Metrics(), 0, () => 0),
      count: async (sites) => {
        const counted = sites.map((site) => ({ visitors: this.#now(site).visitors, profiles: [] }));
        if (this.#random.chance(0.3)) await this.#delay();
        return counted;
      },
    });
    this.#feed = owner;
  }

  async kill(): Promise<void> {
    const feed = this.#feed;
    this.#feed = undefined;
    await feed?.stop();
  }

  set(site: string, visitors: number): void {
    const past = this.#past.get(site) ?? [];
    const last = past.at(-1);
    if (last !== undefined) last.untilMs = performance.now();
    this.#past.set(site, [...past, { visitors, untilMs: Number.POSITIVE_INFINITY }]);
  }

  /** Every number that is known was true a moment ago. */
  check(site: string, withinMs: number): void {
    for (const node of this.nodes) {
      const visitors = node.of(storedId(site))?.[0]?.visitors;
      if (visitors === undefined) continue;
      this.known += 1;
      const recent = (this.#past.get(site) ?? []).filter(
        ({ untilMs }) => untilMs >= performance.now() - withinMs,
      );
      expect(recent.map((one) => one.visitors)).toContain(visitors);
    }
  }

  #now(site: string): { readonly visitors: number } {
    return this.#past.get(site)?.at(-1) ?? { visitors: 0 };
  }

  #delay(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#random.below(30)));
  }
}

test('whatever is lost, late or restarted, a number that is known was true half a second ago', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = new SeededRandom(seed);
    const scene = new LossyScene(random, 2);
    for (let step = 0; step < 400; step += 1) {
      const site = ['a', 'b', 'c'][random.below(3)] ?? 'a';
      if (random.chance(0.3)) scene.set(site, step + 1);
      if (random.chance(0.01)) {
        await Promise.all([scene.kill(), vi.advanceTimersByTimeAsync(200)]);
        await vi.advanceTimersByTimeAsync(random.below(2_000));
        scene.start();
      }
      if (random.chance(0.005)) await vi.advanceTimersByTimeAsync(2 * WATCHED_FOR_MS);
      await vi.advanceTimersByTimeAsync(random.below(150));
      scene.check(site, 500);
    }
    // It is no proof to know nothing.
    expect(scene.known).toBeGreaterThan(200);
    // An owner that is counting ends after that.
    await Promise.all([scene.kill(), vi.advanceTimersByTimeAsync(SILENT_MS)]);
  }
});
