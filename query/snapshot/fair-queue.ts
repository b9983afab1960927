import type { Counter, Metrics } from '../../infra/metrics.ts';
import { RejectError } from '../reject.ts';
import type { Requester } from './requester.ts';

// p-queue and bottleneck are rejected: neither divides its capacity among teams and their sites, nor lets a task that has
// begun give its permit to others for a while.

/** The share of the capacity that no single team can have. */
const RESERVE_SHARE = 1 / 4;
/** The share of what may run or wait, of everything, of a team or of a site, that long tasks can have. */
const LONG_SHARE = 1 / 2;

/** Why a task left the queue. `slow`: its reader was too slow while others waited. Each reason is a counter. */
const QUEUE_ENDS = ['done', 'full', 'waited', 'left', 'slow'] as const;
export type QueueEnd = (typeof QUEUE_ENDS)[number];

/** Bounds of a queue: for everything together, for one team, and for one site. */
export interface FairQueueLimits {
  readonly runningMax: number;
  /** Leaves capacity for the team's other sites. What one team may have follows from `runningMax`. */
  readonly siteRunningMax: number;
  readonly waitingMax: number;
  readonly teamWaitingMax: number;
  readonly siteWaitingMax: number;
  /** How long a request may wait, all its tasks together. */
  readonly waitMaxMs: number;
}

export interface FairQueueOptions {
  /** The label of its metrics. */
  readonly name: string;
  readonly limits: FairQueueLimits;
  readonly metrics: Metrics;
}

/** The right to run one task. */
export interface Permit {
  /** Whether another task waits that would begin if this one ended. */
  readonly isWanted: boolean;
  /**
   * Gives the capacity to the next task, if one waits for it, and waits for it again: without a deadline, and however
   * many wait, because this task has begun already. Call it from the task itself, and nothing else meanwhile.
   * @throws {RejectError} `left`, when the client goes away meanwhile
   */
  yield(): Promise<void>;
  /** Ends the task; without effect after the first call. */
  release(end?: QueueEnd): void;
}

interface Waiter {
  readonly isLong: boolean;
  readonly begin: () => void;
}

/** A number of tasks that run or wait, of which long ones can be half. */
class Tally {
  all = 0;
  #long = 0;

  /** Adds a task, or with -1 takes it away. */
  add({ isLong = false }: Pick<Task, 'isLong'>, count: 1 | -1): void {
    this.all += count;
    if (isLong) this.#long += count;
  }

  /** Whether there is room for one more. */
  hasRoom(most: number, isLong: boolean): boolean {
    const longMax = Math.max(1, Math.floor(most * LONG_SHARE));
    return this.all < most && !(isLong && this.#long >= longMax);
  }
}

/** What everything, a team or a site has of the capacity. */
interface Share {
  readonly running: Tally;
  readonly waiting: Tally;
}

interface SiteShare extends Share {
  /** In the order in which they came. */
  readonly waiters: Set<Waiter>;
}

interface TeamShare extends Share {
  /** Sites with running or waiting tasks; the next one in round robin first. */
  readonly sites: Map<string, SiteShare>;
}

/** Whose task it is. */
export interface Task {
  readonly requester: Requester;
  readonly site: string;
  /** Whether it is known to take long; false when absent. */
  readonly isLong?: boolean;
}

/**
 * Runs a limited number of tasks at a time, round robin over the teams and, within a team, over its sites: with each task
 * that begins, its team and its site go to the end. A quarter of the capacity, and at least one task, stays free of any
 * one team, so that another team's task begins at once however much one team asks. Long tasks have half at most of
 * what may run and wait, so that a short one waits for other short ones alone; among the tasks of a site, it passes long ones for which
 * there is no room.
 */
export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #teamRunningMax: number;
  readonly #all: Share = newShare();
  readonly #ends: Readonly<Record<QueueEnd, Counter>>;
  /** Teams with running or waiting tasks; the next one in round robin first. */
  readonly #teams = new Map<string, TeamShare>();

  constructor({ name, limits, metrics }: FairQueueOptions) {
    this.#limits = limits;
    this.#teamRunningMax = teamRunningMaxOf(limits.runningMax);
    const queue = { queue: name };
    metrics.gaugeOf('query_queue_running', 'tasks that run now, by queue', queue, () => this.running);
    metrics.gaugeOf('query_queue_waiting', 'tasks that wait now, by queue', queue, () => this.waiting);
    const ends = {} as Record<QueueEnd, Counter>;
    for (const reason of QUEUE_ENDS)
      ends[reason] = metrics.counter('query_queue_ended_total', 'tasks that left the queue, by reason', {
        ...queue,
        reason,
      });
    this.#ends = ends;
  }

  get running(): number {
    return this.#all.running.all;
  }

  get waiting(): number {
    return this.#all.waiting.all;
  }

  /** Runs a task as soon as the limits allow; rejects as `acquire` does. */
  async run<T>(task: Task, work: () => Promise<T>): Promise<T> {
    const permit = await this.acquire(task);
    try {
      return await work();
    } finally {
      permit.release();
    }
  }

  /**
   * Resolves when the task may begin. The caller releases the permit.
   * @throws {RejectError} 503 `busy`, at once, when too many tasks wait; 503 `waited` when the request has waited for
   *   `waitMaxMs`; `left` when the client has gone
   */
  async acquire(task: Task): Promise<Permit> {
    const { requester } = task;
    if (requester.gone?.aborted) throw this.#rejected('left');
    if (this.#mayRun(task)) this.#begin(task);
    else {
      this.#rejectFull(task);
      const leftMs = this.#limits.waitMaxMs - requester.waitedMs(performance.now());
      if (leftMs <= 0) throw this.#rejected('waited');
      await this.#wait(task, leftMs);
    }
    return this.#permitOf(task);
  }

  #permitOf(task: Task): Permit {
    const { requester } = task;
    let isRunning = true;
    const isWanted = () => isRunning && this.#isWanted(task);
    return {
      get isWanted() {
        return isWanted();
      },
      yield: async () => {
        if (!isWanted()) return;
        isRunning = false;
        this.#end(task);
        await this.#wait(task, undefined);
        isRunning = true;
      },
      release: (end = requester.gone?.aborted ? 'left' : 'done') => {
        if (!isRunning) return;
        isRunning = false;
        this.#ends[end].add();
        this.#end(task);
      },
    };
  }

  #mayRun({ requester: { team }, site, isLong = false }: Task): boolean {
    const { runningMax, siteRunningMax } = this.#limits;
    const share = this.#teams.get(team);
    return (
      this.#all.running.hasRoom(runningMax, isLong) &&
      share?.running.hasRoom(this.#teamRunningMax, isLong) !== false &&
      share?.sites.get(site)?.running.hasRoom(siteRunningMax, isLong) !== false
    );
  }

  /** Whether a waiting task may run once this one has ended. */
  #isWanted(task: Task): boolean {
    this.#count(task, 'running', -1);
    const next = this.#next();
    this.#count(task, 'running', 1);
    return next !== undefined;
  }

  #rejectFull({ requester: { team }, site, isLong = false }: Task): void {
    const { waitingMax, teamWaitingMax, siteWaitingMax } = this.#limits;
    const share = this.#teams.get(team);
    const questions = isLong ? 'too many long questions' : 'too many questions';
    if (share?.sites.get(site)?.waiting.hasRoom(siteWaitingMax, isLong) === false)
      throw this.#rejected('full', `${questions} about this site are waiting`);
    if (share?.waiting.hasRoom(teamWaitingMax, isLong) === false)
      throw this.#rejected('full', `${questions} of this team are waiting`);
    if (!this.#all.waiting.hasRoom(waitingMax, isLong))
      throw this.#rejected('full', `${questions} are waiting`);
  }

  /** Resolves when the task has begun. Without `waitMaxMs` it waits for as long as it takes. */
  #wait(task: Task, waitMaxMs: number | undefined): Promise<void> {
    const { requester, isLong = false } = task;
    const [, { waiters }] = this.#sharesOf(task);
    requester.beginWait(performance.now());
    this.#count(task, 'waiting', 1);
    return new Promise((resolve, reject) => {
      let deadline: NodeJS.Timeout | undefined;
      const leave = () => {
        clearTimeout(deadline);
        requester.gone?.removeEventListener('abort', onGone);
        requester.endWait(performance.now());
        waiters.delete(waiter);
        this.#count(task, 'waiting', -1);
      };
      const fail = (end: 'waited' | 'left') => {
        leave();
        this.#forget(task);
        reject(this.#rejected(end));
      };
      const onGone = () => fail('left');
      const waiter: Waiter = {
        isLong,
        begin: () => {
          leave();
          this.#begin(task);
          resolve();
        },
      };
      waiters.add(waiter);
      requester.gone?.addEventListener('abort', onGone);
      if (waitMaxMs !== undefined) deadline = setTimeout(() => fail('waited'), waitMaxMs);
      if (requester.gone?.aborted) onGone();
    });
  }

  #rejected(end: 'full' | 'waited' | 'left', full = ''): RejectError {
    this.#ends[end].add();
    if (end === 'full') return new RejectError('busy', full);
    if (end === 'left') return new RejectError('left', 'the client has gone');
    const seconds = this.#limits.waitMaxMs / 1000;
    return new RejectError(
      'waited',
      `too many questions are running; this one waited for ${seconds} seconds`,
    );
  }

  #begin(task: Task): void {
    const { requester, site } = task;
    const [teamShare, siteShare] = this.#sharesOf(task);
    this.#count(task, 'running', 1);
    moveToEnd(this.#teams, requester.team, teamShare);
    moveToEnd(teamShare.sites, site, siteShare);
  }

  #end(task: Task): void {
    this.#count(task, 'running', -1);
    this.#forget(task);
    // The waiting task counts as running at once, before a new one can take its capacity.
    this.#next()?.begin();
  }

  #count(task: Task, state: 'running' | 'waiting', count: 1 | -1): void {
    for (const share of [this.#all, ...this.#sharesOf(task)]) share[state].add(task, count);
  }

  /** The task that is to begin next; undefined when none of the waiting ones may. */
  #next(): Waiter | undefined {
    const { runningMax, siteRunningMax } = this.#limits;
    for (const team of this.#teams.values()) {
      if (team.waiting.all === 0) continue;
      for (const site of team.sites.values()) {
        for (const waiter of site.waiters) {
          const { isLong } = waiter;
          const fits =
            this.#all.running.hasRoom(runningMax, isLong) &&
            team.running.hasRoom(this.#teamRunningMax, isLong) &&
            site.running.hasRoom(siteRunningMax, isLong);
          if (fits) return waiter;
        }
      }
    }
    return undefined;
  }

  #sharesOf({ requester, site }: Task): [TeamShare, SiteShare] {
    const team = this.#teams.get(requester.team) ?? { ...newShare(), sites: new Map() };
    this.#teams.set(requester.team, team);
    const share = team.sites.get(site) ?? { ...newShare(), waiters: new Set() };
    team.sites.set(site, share);
    return [team, share];
  }

  /** Removes the shares of a site and a team without tasks. */
  #forget({ requester, site }: Task): void {
    const team = this.#teams.get(requester.team);
    const share = team?.sites.get(site);
    if (share?.running.all === 0 && share.waiting.all === 0) team?.sites.delete(site);
    if (team?.sites.size === 0) this.#teams.delete(requester.team);
  }
}

function newShare(): Share {
  return { running: new Tally(), waiting: new Tally() };
}

function teamRunningMaxOf(runningMax: number): number {
  return runningMax === 1 ? 1 : runningMax - Math.ceil(runningMax * RESERVE_SHARE);
}

function moveToEnd<Share>(shares: Map<string, Share>, name: string, share: Share): void {
  shares.delete(name);
  shares.set(name, share);
}
