import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { Clock } from '../../infra/clock.ts';
import { backoffMs } from '../../infra/concurrency/backoff.ts';
import type { Counter, Histogram, Metrics } from '../../infra/metrics.ts';
import {
  decodeHotAnswer,
  encodeHotQuestion,
  type HotAnswer,
  type HotHead,
  type HotQuestion,
  hotSubjectOf,
} from '../../processor/hot.ts';
import { RejectError } from '../reject.ts';
import { SharedFetch } from './shared-fetch.ts';

/** A fetch serves questions that come this long after it began. */
const REUSE_MS = 100;
/** How long one owner may take before it is asked again; a restarted owner does not know of the first question. */
const TRY_MAX_MS = 1_000;
/** How long a partition may be without an owner before a question is answered without it, or not at all. */
const AWAY_MAX_MS = 3_000;
const RETRY = { firstMs: 25, maxMs: 250 };
/** Reasons that stay true if the owner is asked again: the minutes are gone, or the programs differ in version. */
const FINAL_REASONS: ReadonlySet<string> = new Set(['not-held', 'unreadable']);
/** Fetches that are kept at a time; each serves for a moment only. */
const FETCHES_MAX = 10_000;

/** A partition whose owner gave no answer, and why. */
export interface AwayPartition {
  readonly partition: number;
  readonly reason: string;
}

/** What the owners said, one entry for each partition in order; undefined for those in `away`. */
export interface HotAnswers {
  readonly answers: readonly (HotAnswer | undefined)[];
  readonly away: readonly AwayPartition[];
}

export interface HotViewOptions {
  readonly bus: Pick<Bus, 'ask'>;
  readonly partitions: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/**
 * What is in the memory of the partitions' owners, asked for when somebody wants to know. Questions for the same thing
 * at the same moment share one fetch; nothing is kept beyond that moment.
 */
export class HotView {
  readonly #bus: Pick<Bus, 'ask'>;
  readonly #partitions: number;
  readonly #clock: Clock;
  readonly #seconds: Readonly<Record<HotQuestion['kind'], Histogram>>;
  readonly #unreadable: Counter;
  readonly #fetches = new Map<string, SharedFetch<HotAnswers>>();

  constructor({ bus, partitions, clock, metrics }: HotViewOptions) {
    this.#bus = bus;
    this.#partitions = partitions;
    this.#clock = clock;
    this.#unreadable = metrics.counter(
      'query_hot_unreadable_answers_total',
      'Answers of partition owners that could not be read.',
    );
    const seconds = (kind: string) =>
      metrics.seconds('query_hot_fetch_seconds', 'time to ask every owner of a partition', { kind });
    this.#seconds = {
      live: seconds('live'),
      'live-details': seconds('live-details'),
      rows: seconds('rows'),
      minutes: seconds('minutes'),
    };
  }

  get partitions(): number {
    return this.#partitions;
  }

  /** Every event of the site that was acknowledged `REUSE_MS` ago or earlier and may not be in the store. */
  rows(projectId: string): Promise<HotAnswers> {
    return this.#shared(`rows\n${projectId}`, () => ({ kind: 'rows', projectId }));
  }

  live(projectId: string): Promise<HotAnswers> {
    return this.#shared(`live\n${projectId}`, () => ({
      kind: 'live',
      projectId,
      nowMs: this.#clock.nowMs(),
    }));
  }

  liveDetails(projectId: string): Promise<HotAnswers> {
    return this.#shared(`live-details\n${projectId}`, () => ({
      kind: 'live-details',
      projectId,
      nowMs: this.#clock.nowMs(),
    }));
  }

  minutes(projectId: string, fromMs: number): Promise<HotAnswers> {
    return this.#shared(`minutes ${fromMs}\n${projectId}`, () => ({ kind: 'minutes', projectId, fromMs }));
  }

  #shared(key: string, question: () => HotQuestion): Promise<HotAnswers> {
    let fetch = this.#fetches.get(key);
    if (fetch === undefined) {
      if (this.#fetches.size >= FETCHES_MAX) this.#makeRoom();
      fetch = new SharedFetch(() => this.#fetch(key, question()), this.#clock, REUSE_MS);
      this.#fetches.set(key, fetch);
    }
    return fetch.get();
  }

  async #fetch(key: string, question: HotQuestion): Promise<HotAnswers> {
    try {
      return await this.#askOwners(question);
    } finally {
      // Rows can be many megabytes: they are let go as soon as nobody may use them any more.
      setTimeout(() => this.#forget(key), REUSE_MS + 1).unref();
    }
  }

  async #askOwners(question: HotQuestion): Promise<HotAnswers> {
    const startedAt = performance.now();
    const bytes = encodeHotQuestion(question);
    const asked = Array.from({ length: this.#partitions }, (_, partition) =>
      this.#askOwner(partition, question.kind, bytes, startedAt),
    );
    const answered = await Promise.all(asked);
    this.#seconds[question.kind].observe((performance.now() - startedAt) / 1000);
    const away: AwayPartition[] = [];
    const answers = answered.map((answer, partition) => {
      if (typeof answer !== 'string') return answer;
      away.push({ partition, reason: answer });
      return undefined;
    });
    return { answers, away };
  }

  /** Asks until there is an answer or the partition was away for too long; then the reason. */
  async #askOwner(
    partition: number,
    kind: HotQuestion['kind'],
    bytes: Uint8Array,
    startedAt: number,
  ): Promise<HotAnswer | string> {
    for (let attempt = 0; ; attempt += 1) {
      const leftMs = AWAY_MAX_MS - (performance.now() - startedAt);
      const answer = await this.#askOnce(partition, kind, bytes, Math.max(1, Math.min(TRY_MAX_MS, leftMs)));
      if (typeof answer !== 'string' || FINAL_REASONS.has(answer)) return answer;
      const pauseMs = backoffMs(RETRY, attempt, Math.random());
      if (performance.now() - startedAt + pauseMs >= AWAY_MAX_MS) return answer;
      await wait(pauseMs);
    }
  }

  async #askOnce(
    partition: number,
    kind: HotQuestion['kind'],
    bytes: Uint8Array,
    timeoutMs: number,
  ): Promise<HotAnswer | string> {
    try {
      const answer = decodeHotAnswer(await this.#bus.ask(hotSubjectOf(partition), bytes, timeoutMs));
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

  #forget(key: string): void {
    if (this.#fetches.get(key)?.isIdle) this.#fetches.delete(key);
  }

  #makeRoom(): void {
    for (const key of this.#fetches.keys()) this.#forget(key);
    if (this.#fetches.size >= FETCHES_MAX) throw new RejectError('busy', 'too many sites are asked about');
  }
}

/** The heads of one kind, of those partitions that answered. */
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
