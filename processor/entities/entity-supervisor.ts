import { Supervisor } from '../../infra/concurrency/supervisor.ts';
import {
  decodeEntityQuestion,
  decodeStoredProfilesQuestion,
  encodeEntityAnswer,
  encodeStoredProfilesAnswer,
  entityLookupSubjectOf,
  storedProfilesSubjectOf,
} from '../../ingest/entity-lookup.ts';
import { LaneHealth } from '../consumer/lane-health.ts';
import { LANE_RETRY } from '../consumer/stream-consumer.ts';
import { entityAnswerOf } from './entity-answer.ts';
import type { EntityDeps } from './entity-flush.ts';
import { EntityLane } from './entity-lane.ts';
import { UnstorableEntities, UnstorableError } from './unstorable.ts';

const HEALTHY_AFTER_MS = 60_000;

/** Runs the entity lane while this process owns the lane: answers questions, and restarts it after a failure. */
export class EntitySupervisor {
  readonly #options: EntityDeps;
  readonly #supervisor: Supervisor;
  readonly #unstorable = new UnstorableEntities();
  readonly #health = new LaneHealth();
  #lane: EntityLane | undefined;
  #stopAnswering: (() => void)[] = [];

  constructor(options: EntityDeps) {
    this.#options = options;
    this.#supervisor = new Supervisor({
      ...options,
      name: 'entity lane',
      fields: { lane: options.lane },
      backoff: LANE_RETRY,
      healthyAfterMs: HEALTHY_AFTER_MS,
      failures: { add: () => this.#noteFailure() },
      run: () => this.#run(),
      interrupt: async () => this.#lane?.stop(),
    });
  }

  /** True if it is restarted again and again without anything reaching the store. */
  get isFailing(): boolean {
    return this.#health.isFailing(this.#lane?.checkpointSequence ?? 0, performance.now());
  }

  #noteFailure(): void {
    this.#options.metrics.failures.add();
    this.#health.failed(this.#lane?.checkpointSequence ?? 0, performance.now());
  }

  /** Runs a lane, and the next one immediately if it ended to leave out unstorable updates. */
  async #run(): Promise<void> {
    this.#lane = new EntityLane(this.#options, this.#unstorable);
    try {
      await this.#lane.run();
    } catch (error) {
      if (!(error instanceof UnstorableError)) throw error;
      const { lane, log } = this.#options;
      log.error({ lane, reason: error.message }, 'updates cannot be stored and are set aside');
    }
  }

  start(): void {
    const { bus, name } = this.#options;
    this.#stopAnswering = [
      bus.answer(entityLookupSubjectOf(name), {
        reply: (bytes) => this.#answer(bytes),
        unavailable: () => encodeEntityAnswer({ kind: 'unavailable' }),
      }),
      bus.answer(storedProfilesSubjectOf(name), {
        reply: (bytes) => this.#answerStored(bytes),
        unavailable: () => encodeStoredProfilesAnswer({ kind: 'unavailable' }),
      }),
    ];
    this.#supervisor.start();
  }

  async stop(): Promise<void> {
    await this.#supervisor.stop();
    for (const stop of this.#stopAnswering) stop();
  }

  /**
   * Runs `work` while the store has every entity as the lane knows it; see `EntityLane.atRest`.
   * @throws {Error} without a lane, or when it is behind or stops before
   */
  async atRest<Result>(
    maxMs: number,
    work: (lane: Pick<EntityLane, 'isStopping' | 'sleep'>) => Promise<Result>,
  ): Promise<Result> {
    const lane = this.#lane;
    if (lane === undefined) throw new Error('the entity lane starts');
    return lane.atRest(maxMs, () => work(lane));
  }

  async #answerStored(bytes: Uint8Array): Promise<Uint8Array | undefined> {
    const { projectId } = decodeStoredProfilesQuestion(bytes);
    const isStored = await this.#lane?.untilStored(projectId);
    return isStored ? encodeStoredProfilesAnswer({ kind: 'stored' }) : undefined;
  }

  async #answer(bytes: Uint8Array): Promise<Uint8Array | undefined> {
    const question = decodeEntityQuestion(bytes);
    const read = await this.#lane?.read(question);
    if (read === undefined || read.kind === 'unavailable') return undefined;
    return encodeEntityAnswer(entityAnswerOf(read, question));
  }
}
