import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Clock } from '../../infra/clock.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { entityKeyOf } from '../entity-lookup.ts';
import type { EntityUpdate, TallyUpdate } from '../entity-update.ts';
import { laneHashOf } from '../event.ts';
import type { PublishWaiter } from './lane-queue.ts';
import type { Publisher } from './publisher.ts';

/** Distinct tallies between two publishes; beyond it a tally is counted without its name. */
const TALLIES_MAX = 10_000;
const NAME_MAX = 80;

interface Tally {
  readonly projectId: StoredId;
  readonly hourMs: number;
  readonly reason: string;
  readonly name: string;
  count: number;
}

/**
 * Counts excluded bodies by site, hour, reason and name, and publishes the counts in `publish`. Counts since the last
 * publish are lost with the process: no response promised that they are stored.
 */
export class Tallies implements PublishWaiter {
  readonly #publisher: Publisher<EntityUpdate>;
  readonly #clock: Clock;
  #tallies = new Map<string, Tally>();

  constructor(publisher: Publisher<EntityUpdate>, clock: Clock) {
    this.#publisher = publisher;
    this.#clock = clock;
  }

  /** `reason` comes from a closed set. `name` is a detail and may be text from the request. */
  count(projectId: StoredId, reason: string, name: string): void {
    const hourMs = Math.floor(this.#clock.nowMs() / HOUR_MS) * HOUR_MS;
    const shown = this.#tallies.size >= TALLIES_MAX ? '' : name.slice(0, NAME_MAX);
    const key = `${hourMs}:${reason}:${shown}:${projectId}`;
    const known = this.#tallies.get(key);
    if (known === undefined) this.#tallies.set(key, { projectId, hourMs, reason, name: shown, count: 1 });
    else known.count += 1;
  }

  /** Publishes the counts since the last call, unless the bus accepts nothing now. */
  publish(): void {
    if (this.#tallies.size === 0 || this.#publisher.rejectReason() !== undefined) return;
    const tallies = this.#tallies;
    this.#tallies = new Map();
    for (const tally of tallies.values()) {
      const id = `${tally.hourMs}:${tally.reason}:${tally.name}`;
      const update: TallyUpdate = { kind: 'tally', id, updateId: '', atMs: this.#clock.nowMs(), ...tally };
      const hash = laneHashOf(tally.projectId, entityKeyOf('tally', id), this.#publisher.layout);
      this.#publisher.add(hash, update, this);
    }
  }

  /** A tally that was not confirmed may have been stored. It is not sent again, because it would count twice. */
  published(): void {}
}
