import type { StoredId } from '../../infra/accounts/ids.ts';
import { byUse, forgetLeast, RecentUse } from './recent-use.ts';
import type { Requester } from './requester.ts';

/** The share of the capacity that no single team can have. */
const RESERVE_SHARE = 1 / 4;
/** The share of every limit (of all, of a team, of a site) that long tasks can have. */
const LONG_SHARE = 1 / 2;
/** A team that may run at least this many leaves one place for another of its clients. */
const SEVERAL = 3;
/** A team with fewer waiting tasks may use the reserve of the queue: no question has more statements at a time. */
const FEW_WAITING = 4;
/** A team that uses less than this is never over its share. */
const SHARE_MIN = 1;
/**
 * A running long task counts for this much more than a short one, because it keeps all threads busy. Otherwise a team
 * with three short tasks would be over its share when a team with two long ones slows it down.
 */
const LONG_EXTRA = 2;
/** A team that uses less counts as idle. */
const USE_MIN = SHARE_MIN / 10;
/** Maximum number of teams, and of clients of a team, whose recent use is remembered. */
const TEAMS_MAX = 1_000;
const CLIENTS_MAX = 100;

/** Limits of a queue: in all, for one team, and for one site. */
export interface FairQueueLimits {
  readonly runningMax: number;
  /** Leaves capacity for the team's other sites. A team's limit follows from `runningMax`. */
  readonly siteRunningMax: number;
  readonly waitingMax: number;
  readonly teamWaitingMax: number;
  readonly siteWaitingMax: number;
  /** Maximum wait of a request, all its tasks together. */
  readonly waitMaxMs: number;
}

/** Whose task it is. */
export interface Task {
  readonly requester: Requester;
  readonly site: StoredId;
  /** Known to take long; default false. */
  readonly isLong?: boolean;
}

export interface Waiter {
  readonly isLong: boolean;
  readonly begin: () => void;
}

/** Capacity to keep free: places, and how many of them for long tasks. */
interface Kept {
  readonly all: number;
  readonly long: number;
}

const NOTHING_KEPT: Kept = { all: 0, long: 0 };

/** A number of running or waiting tasks, and how many of them are long. */
class Tally {
  all = 0;
  long = 0;

  /** Adds a task; removes one with -1. */
  add(isLong: boolean, count: 1 | -1): void {
    this.all += count;
    if (isLong) this.long += count;
  }

  /** There is room for one more beside `kept`. */
  hasRoom(most: number, isLong: boolean, kept: Kept = NOTHING_KEPT): boolean {
    const longMax = Math.max(1, Math.floor(most * LONG_SHARE));
    return this.all < most - kept.all && !(isLong && this.long >= longMax - kept.long);
  }
}

/** The part of the capacity in use: by all, a team, a client or a site. */
class Share {
  readonly running = new Tally();
  readonly waiting = new Tally();

  get isIdle(): boolean {
    return this.running.all === 0 && this.waiting.all === 0;
  }
}

/** A client's waiting tasks and its recent use. */
class ClientShare extends Share {
  readonly use = new RecentUse();
  /** By site, the next one in round robin first. Tasks of a site are in the order of arrival. */
  readonly sites = new Map<string, Set<Waiter>>();
}

class TeamShare extends Share {
  readonly use = new RecentUse();
  /** Sites with running or waiting tasks. */
  readonly sites = new Map<string, Share>();
  readonly clients = new Map<string, ClientShare>();
}

/** The limit that keeps a task from waiting: of its site, of its team, or of all. */
export type Full = 'site' | 'team' | 'all';

/**
 * Divides a queue's capacity and decides whose turn is next: the team with the least recent use, its client with the
 * least, then that client's sites in round robin. It starts and ends no task.
 */
export class QueueShares {
  readonly #limits: FairQueueLimits;
  readonly #teamRunningMax: number;
  readonly #all = new Share();
  /** In round robin, for teams with equal use. */
  readonly #teams = new Map<string, TeamShare>();

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
    this.#teamRunningMax = teamRunningMaxOf(limits.runningMax);
  }

  get running(): number {
    return this.#all.running.all;
  }

  get waiting(): number {
    return this.#all.waiting.all;
  }

  mayRun({ requester, site, isLong = false }: Task): boolean {
    const team = this.#teams.get(requester.team);
    return this.#fits(team, team?.clients.get(requester.client), team?.sites.get(site), isLong);
  }

  /**
   * The last place, and the last long place, is for a team without tasks, so its first task begins immediately. The
   * same holds for the clients of a team.
   */
  #fits(
    team: Share | undefined,
    client: Share | undefined,
    site: Share | undefined,
    isLong: boolean,
  ): boolean {
    const { runningMax, siteRunningMax } = this.#limits;
    const teamMax = this.#teamRunningMax;
    const keptOfTeam = teamMax < SEVERAL ? NOTHING_KEPT : oneKept(client);
    return (
      this.#all.running.hasRoom(runningMax, isLong, oneKept(team)) &&
      team?.running.hasRoom(teamMax, isLong, keptOfTeam) !== false &&
      site?.running.hasRoom(siteRunningMax, isLong) !== false
    );
  }

  /** The limit that keeps a task from waiting; undefined without one. The last quarter of the queue is for teams with few waiting tasks. */
  fullness({ requester: { team }, site, isLong = false }: Task): Full | undefined {
    const { waitingMax, teamWaitingMax, siteWaitingMax } = this.#limits;
    const share = this.#teams.get(team);
    if (share?.sites.get(site)?.waiting.hasRoom(siteWaitingMax, isLong) === false) return 'site';
    if (share?.waiting.hasRoom(teamWaitingMax, isLong) === false) return 'team';
    const isFew = share === undefined || share.waiting.all < FEW_WAITING;
    const reserve = waitingMax * RESERVE_SHARE;
    const kept = isFew ? NOTHING_KEPT : { all: reserve, long: reserve * LONG_SHARE };
    return this.#all.waiting.hasRoom(waitingMax, isLong, kept) ? undefined : 'all';
  }

  /**
   * The team uses more than the average of the other teams. A team counts with its recent use, or with what it runs now
   * if that is more: this way a flood is over its share from its first seconds on, and the team before it is not. The
   * only team is over its share with half of what it may run.
   */
  isOverShare({ requester: { team } }: Task, nowMs: number): boolean {
    let [own, others, count] = [0, 0, 0];
    for (const [name, { use, running }] of this.#teams) {
      const counted = Math.max(use.average(nowMs), running.all) + LONG_EXTRA * running.long;
      if (name === team) own = counted;
      else if (counted > USE_MIN) {
        others += counted;
        count += 1;
      }
    }
    return own > (count === 0 ? this.#teamRunningMax / 2 : Math.max(SHARE_MIN, others / count));
  }

  /** Another team has a running or a waiting task. */
  isContended({ requester: { team } }: Task): boolean {
    const own = this.#teams.get(team);
    const { running, waiting } = this.#all;
    return running.all + waiting.all > (own === undefined ? 0 : own.running.all + own.waiting.all);
  }

  /** Counts a task that begins to run; with -1 one that ends. */
  run(task: Task, count: 1 | -1, nowMs: number): void {
    const { team, client } = this.#count(task, 'running', count, nowMs);
    team.use.add(count, nowMs);
    client.use.add(count, nowMs);
    if (count === -1) {
      this.#forget(task);
      return;
    }
    const { requester, site } = task;
    moveToEnd(this.#teams, requester.team);
    moveToEnd(team.clients, requester.client);
    moveToEnd(client.sites, site);
  }

  /** Adds a waiting task. */
  wait(task: Task, waiter: Waiter, nowMs: number): void {
    const { client } = this.#count(task, 'waiting', 1, nowMs);
    const waiters = client.sites.get(task.site) ?? new Set();
    client.sites.set(task.site, waiters.add(waiter));
  }

  /** Removes a waiting task. */
  leave(task: Task, waiter: Waiter, nowMs: number): void {
    const { client } = this.#count(task, 'waiting', -1, nowMs);
    client.sites.get(task.site)?.delete(waiter);
    this.#forget(task);
  }

  /** The next task to run; undefined when no waiting task may. */
  next(nowMs: number): Waiter | undefined {
    if (this.waiting === 0) return undefined;
    for (const team of byUse(waitingOf(this.#teams), nowMs))
      for (const client of byUse(waitingOf(team.clients), nowMs))
        for (const [site, waiters] of client.sites)
          for (const waiter of waiters)
            if (this.#fits(team, client, team.sites.get(site), waiter.isLong)) return waiter;
    return undefined;
  }

  /** Ending this task would let a waiting one begin. */
  isWanted(task: Task, nowMs: number): boolean {
    const shares = this.#sharesOf(task, nowMs);
    const isLong = task.isLong === true;
    const all = [this.#all, shares.team, shares.client, shares.site];
    for (const { running } of all) running.add(isLong, -1);
    const next = this.next(nowMs);
    for (const { running } of all) running.add(isLong, 1);
    return next !== undefined;
  }

  #count(task: Task, state: 'running' | 'waiting', count: 1 | -1, nowMs: number) {
    const { isLong = false } = task;
    const shares = this.#sharesOf(task, nowMs);
    const { team, client, site } = shares;
    for (const share of [this.#all, team, client, site]) share[state].add(isLong, count);
    return shares;
  }

  #sharesOf({ requester, site: name }: Task, nowMs: number) {
    let team = this.#teams.get(requester.team);
    if (team === undefined) {
      forgetLeast(this.#teams, TEAMS_MAX, nowMs);
      team = new TeamShare();
      this.#teams.set(requester.team, team);
    }
    let client = team.clients.get(requester.client);
    if (client === undefined) {
      forgetLeast(team.clients, CLIENTS_MAX, nowMs);
      client = new ClientShare();
      team.clients.set(requester.client, client);
    }
    const site = team.sites.get(name) ?? new Share();
    team.sites.set(name, site);
    return { team, client, site };
  }

  /** Removes a site without tasks. The use of teams and clients is remembered; without tasks they are last. */
  #forget({ requester, site }: Task): void {
    const team = this.#teams.get(requester.team);
    if (team?.isIdle) moveToEnd(this.#teams, requester.team);
    if (team?.clients.get(requester.client)?.isIdle) moveToEnd(team.clients, requester.client);
    if (team?.sites.get(site)?.isIdle) team.sites.delete(site);
    const sites = team?.clients.get(requester.client)?.sites;
    if (sites?.get(site)?.size === 0) sites.delete(site);
  }
}

/** An owner with tasks leaves one place to an owner without. */
function oneKept(owner: Share | undefined): Kept {
  if (owner === undefined) return NOTHING_KEPT;
  const { all, long } = owner.running;
  return { all: all > 0 ? 1 : 0, long: long > 0 ? 1 : 0 };
}

function teamRunningMaxOf(runningMax: number): number {
  return runningMax === 1 ? 1 : runningMax - Math.ceil(runningMax * RESERVE_SHARE);
}

function* waitingOf<Owner extends Share>(owners: ReadonlyMap<string, Owner>): Generator<Owner> {
  for (const owner of owners.values()) if (owner.waiting.all > 0) yield owner;
}

function moveToEnd<Owner>(owners: Map<string, Owner>, name: string): void {
  const owner = owners.get(name);
  if (owner === undefined) return;
  owners.delete(name);
  owners.set(name, owner);
}
