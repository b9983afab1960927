import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { Clock } from '../../infra/clock.ts';
import { backoffMs } from '../../infra/concurrency/backoff.ts';
import { pause } from '../../infra/concurrency/pause.ts';
import type { Logger } from '../../infra/log.ts';
import type { Counter, Histogram, Metrics } from '../../infra/metrics.ts';
import type { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { lanesOfSite } from '../../infra/store/shard-of.ts';
import {
  decodeHotAnswer,
  encodeHotQuestion,
  type HotAnswer,
  type HotHead,
  type HotQuestion,
  hotSubjectOf,
  type LivePart,
} from '../../processor/hot.ts';
import { RejectError } from '../reject.ts';
import { Requester } from './requester.ts';
import { SharedFetch } from './shared-fetch.ts';
import type { ToldNumbers } from './told-numbers.ts';

/** Questions within this time after a fetch began share it. */
const REUSE_MS = 100;
/** Time until a request is repeated: a restarted owner does not know the first one. */
const TRY_MAX_MS = 1_000;
const RETRY = { firstMs: 25, maxMs: 250 };
/** Reasons for which asking again is useless: the minutes are gone, or the programs differ in version. */
const FINAL_REASONS: ReadonlySet<string> = new Set(['not-held', 'unreadable']);
const NO_ROWS = { events: new Uint8Array(0), sessions: new Uint8Array(0) };
/** Maximum number of fetches in memory; each is used only for a moment. */
const FETCHES_MAX = 10_000;

/** A lane whose owner gave no answer, and why. */
export interface AwayLane {
  readonly lane: number;
  readonly reason: string;
}

/** The owners' answers, by lane. Undefined for lanes without an answer, and for lanes of another shard, which have no rows of the site. */
export interface HotAnswers {
  readonly answers: readonly (HotAnswer | undefined)[];
  readonly away: readonly AwayLane[];
}

export interface HotViewOptions {
  readonly bus: Pick<Bus, 'ask'>;
  readonly lanes: ServiceLanes;
  /** Maximum time a question waits for a lane without an owner. Then it is rejected, or answered without that lane. */
  readonly laneWaitMaxMs: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Without it, the owners are asked for every live number. */
  readonly told?: Pick<ToldNumbers, 'of'>;
}

/**
 * The hot rows in the memory of the lanes' owners, fetched for each question; live numbers are broadcast and known
 * already. Equal questions at the same moment share one fetch, which is evicted right after it.
 */
export class HotView {
  readonly #bus: Pick<Bus, 'ask'>;
  readonly #lanes: ServiceLanes;
  readonly #laneWaitMaxMs: number;
  readonly #told: Pick<ToldNumbers, 'of'> | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #retries: Counter;
  readonly #seconds: Readonly<Record<HotQuestion['kind'], Histogram>>;
  readonly #unreadable: Counter;
  readonly #fetches = new Map<string, SharedFetch<HotAnswers>>();
  /** Lanes whose owner did not answer the last request. Only a change is logged. */
  readonly #silent = new Set<number>();

  constructor({ bus, lanes, laneWaitMaxMs, clock, metrics, log, told }: HotViewOptions) {
    this.#bus = bus;
    this.#lanes = lanes;
    this.#laneWaitMaxMs = laneWaitMaxMs;
    this.#told = told;
    this.#clock = clock;
    this.#unreadable = metrics.counter(
      'query_hot_unreadable_answers_total',
      'Answers of lane owners that could not be read.',
    );
    this.#log = log;
    this.#retries = metrics.counter(
      'query_hot_fetch_retries_total',
      'requests to the owner of a lane that were repeated',
    );
    const seconds = (kind: string) =>
      metrics.seconds('query_hot_fetch_seconds', 'time to ask every owner of a lane', { kind });
    this.#seconds = {
      live: seconds('live'),
      'live-details': seconds('live-details'),
      rows: seconds('rows'),
      minutes: seconds('minutes'),
    };
  }

  get lanes(): number {
    return this.#lanes.count;
  }

  /**
   * Every event of the site that was acknowledged `REUSE_MS` ago or earlier and may not be in the store.
   * @param held by lane, the last flush with rows in memory; owners then include later flushes that they still have
   */
  rows(projectId: StoredId, held?: readonly number[]): Promise<HotAnswers> {
    return this.#shared(`rows\n${projectId}`, () => ({
      kind: 'rows',
      projectId,
      ...(held === undefined ? {} : { held: held.slice(0, this.#lanes.count) }),
    }));
  }

  /** Live visitors: from broadcasts, or else by asking the owners. */
  async live(projectId: StoredId): Promise<HotAnswers> {
    const parts = this.toldLive(projectId);
    if (parts === undefined) return this.askLive(projectId);
    return { answers: parts.map((part) => ({ head: { kind: 'live', ...part }, ...NO_ROWS })), away: [] };
  }

  /** Live visitors by lane, from broadcasts; undefined where the owner must be asked. */
  toldLive(projectId: StoredId): readonly LivePart[] | undefined {
    return this.#told?.of(projectId);
  }

  /** Live visitors: asks the owners, whatever they have broadcast. */
  askLive(projectId: StoredId): Promise<HotAnswers> {
    return this.#shared(`live\n${projectId}`, () => ({
      kind: 'live',
      projectId,
      nowMs: this.#clock.nowMs(),
    }));
  }

  liveDetails(projectId: StoredId): Promise<HotAnswers> {
    return this.#shared(`live-details\n${projectId}`, () => ({
      kind: 'live-details',
      projectId,
      nowMs: this.#clock.nowMs(),
    }));
  }

  minutes(projectId: StoredId, fromMs: number): Promise<HotAnswers> {
    return this.#shared(`minutes ${fromMs}\n${projectId}`, () => ({ kind: 'minutes', projectId, fromMs }));
  }

  #shared(key: string, question: () => HotQuestion): Promise<HotAnswers> {
    let fetch = this.#fetches.get(key);
    if (fetch === undefined) {
      if (this.#fetches.size >= FETCHES_MAX) this.#makeRoom();
      fetch = new SharedFetch(() => this.#fetch(key, question()), this.#clock, REUSE_MS);
      this.#fetches.set(key, fetch);
    }
    return Requester.during('owner', fetch.get());
  }

  async #fetch(key: string, question: HotQuestion): Promise<HotAnswers> {
    try {
      return await this.#askOwners(question);
    } finally {
      // Rows can be many megabytes, so a fetch is evicted as soon as it is too old to share.
      setTimeout(() => this.#evict(key), REUSE_MS + 1).unref();
    }
  }

  async #askOwners(question: HotQuestion): Promise<HotAnswers> {
    const startedAt = performance.now();
    const bytes = encodeHotQuestion(question);
    const results = await this.#askLanes(question, bytes, startedAt);
    this.#seconds[question.kind].observe((performance.now() - startedAt) / 1000);
    const away: AwayLane[] = [];
    const answers = results.map((answer, lane) => {
      if (typeof answer === 'string') away.push({ lane, reason: answer });
      return typeof answer === 'string' ? undefined : answer;
    });
    return { answers, away };
  }

  /**
   * The answers of all lanes that may have rows of the site. If the service has grown meanwhile, the new lanes are
   * asked, too: the old ones no longer have everything.
   */
  async #askLanes(
    { kind, projectId }: HotQuestion,
    bytes: Uint8Array,
    startedAt: number,
  ): Promise<readonly (HotAnswer | string | undefined)[]> {
    for (;;) {
      const { count, layout } = this.#lanes;
      const lanes = new Set(lanesOfSite(projectId, layout));
      const asked = Array.from({ length: count }, (_, lane) =>
        lanes.has(lane) ? this.#askOwner(lane, kind, bytes, startedAt) : undefined,
      );
      const results = await Promise.all(asked);
      if (count === this.#lanes.count) return results;
    }
  }

  /** The owner's answer, or the reason why none came in time. */
  async #askOwner(
    lane: number,
    kind: HotQuestion['kind'],
    bytes: Uint8Array,
    startedAt: number,
  ): Promise<HotAnswer | string> {
    for (let attempt = 0; ; attempt += 1) {
      const leftMs = this.#laneWaitMaxMs - (performance.now() - startedAt);
      const answer = await this.#askOnce(lane, kind, bytes, Math.max(1, Math.min(TRY_MAX_MS, leftMs)));
      if (typeof answer !== 'string') this.#noteAnswer(lane);
      if (typeof answer !== 'string' || FINAL_REASONS.has(answer)) return answer;
      const pauseMs = backoffMs(RETRY, attempt, Math.random());
      if (performance.now() - startedAt + pauseMs >= this.#laneWaitMaxMs) return answer;
      this.#noteRetry(lane, answer);
      await pause(pauseMs);
    }
  }

  #noteRetry(lane: number, reason: string): void {
    this.#retries.add();
    if (this.#silent.has(lane)) return;
    this.#silent.add(lane);
    this.#log.warn({ lane, reason }, 'hot fetch failed, retrying');
  }

  #noteAnswer(lane: number): void {
    if (this.#silent.delete(lane)) this.#log.info({ lane }, 'hot fetch succeeds again');
  }

  async #askOnce(
    lane: number,
    kind: HotQuestion['kind'],
    bytes: Uint8Array,
    timeoutMs: number,
  ): Promise<HotAnswer | string> {
    try {
      const answer = decodeHotAnswer(
        await this.#bus.ask(hotSubjectOf(this.#lanes.nameOf(lane)), bytes, timeoutMs),
      );
      if (answer.head.kind === 'unavailable') return answer.head.reason;
      return answer.head.kind === kind ? answer : 'contradictory';
    } catch (error) {
      if (error instanceof BusError && error.retryable) return error.reason;
      if (error instanceof DecodeError) {
        this.#unreadable.add();
        return 'unreadable';
      }
      throw error;
    }
  }

  #evict(key: string): void {
    if (this.#fetches.get(key)?.isIdle) this.#fetches.delete(key);
  }

  #makeRoom(): void {
    for (const key of this.#fetches.keys()) this.#evict(key);
    if (this.#fetches.size >= FETCHES_MAX)
      throw new RejectError('busy', 'too many sites are queried at once');
  }
}

/** The heads of one kind, of lanes that answered. */
export function headsOf<Kind extends HotHead['kind']>(
  { answers }: HotAnswers,
  kind: Kind,
): readonly Extract<HotHead, { kind: Kind }>[] {
  const heads: Extract<HotHead, { kind: Kind }>[] = [];
  for (const answer of answers) {
    if (answer !== undefined && isHead(answer.head, kind)) heads.push(answer.head);
  }
  return heads;
}

function isHead<Kind extends HotHead['kind']>(
  head: HotHead,
  kind: Kind,
): head is Extract<HotHead, { kind: Kind }> {
  return head.kind === kind;
}
