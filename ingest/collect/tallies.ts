import type { Clock } from '../../infra/clock.ts';
import { entityKeyOf } from '../entity-lookup.ts';
import type { EntityUpdate, TallyUpdate } from '../entity-update.ts';
import { partitionOf } from '../event.ts';
import type { Publisher, PublishWaiter } from './publisher.ts';

const HOUR_MS = 3_600_000;
/** Distinct counts between two turns; what is beyond counts without its name. */
const COUNTS_MAX = 10_000;
const NAME_MAX = 80;

interface Tally {
  readonly projectId: string;
  readonly hourMs: number;
  readonly reason: string;
  readonly name: string;
  count: number;
}

/**
 * Counts what was understood and not recorded, by site, hour, reason and name, and sends the counts on in `turn`. What
 * was counted since the last turn is lost with the process: nobody was told that it is recorded.
 */
export class Tallies implements PublishWaiter {
  readonly #publisher: Publisher<EntityUpdate>;
  readonly #clock: Clock;
  readonly #partitions: number;
  #tallies = new Map<string, Tally>();

  constructor(publisher: Publisher<EntityUpdate>, clock: Clock, partitions: number) {
    this.#publisher = publisher;
    this.#clock = clock;
    this.#partitions = partitions;
  }

  /** `reason` is from a closed set; `name` says more, and may be what a stranger sent. */
  count(projectId: string, reason: string, name: string): void {
    const hourMs = Math.floor(this.#clock.nowMs() / HOUR_MS) * HOUR_MS;
    const shown = this.#tallies.size >= COUNTS_MAX ? '' : name.slice(0, NAME_MAX);
    const key = `${hourMs}:${reason}:${shown}:${projectId}`;
    const known = this.#tallies.get(key);
    if (known === undefined) this.#tallies.set(key, { projectId, hourMs, reason, name: shown, count: 1 });
    else known.count += 1;
  }

  /** Sends what was counted since the last turn, unless the bus takes nothing now. */
  publish(): void {
    if (this.#tallies.size === 0 || this.#publisher.rejectReason() !== undefined) return;
    const tallies = this.#tallies;
    this.#tallies = new Map();
    for (const count of tallies.values()) {
      const id = `${count.hourMs}:${count.reason}:${count.name}`;
      const update: TallyUpdate = { kind: 'tally', id, updateId: '', atMs: this.#clock.nowMs(), ...count };
      const partition = partitionOf(count.projectId, entityKeyOf('tally', id), this.#partitions);
      this.#publisher.add(partition, update, this);
    }
  }

  /** A tally that was not confirmed may have been stored: it is not sent again, since it would count twice. */
  published(): void {}
}
