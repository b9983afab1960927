import type { StoredId } from '../../infra/accounts/ids.ts';
import { entityKeyOf } from '../entity-lookup.ts';
import type { DeviceUpdate, EntityUpdate } from '../entity-update.ts';
import type { DeviceId, ProfileId } from '../event.ts';
import { laneHashOf } from '../event.ts';
import { bySecret } from '../identity/authority.ts';
import type { PublishWaiter } from './lane-queue.ts';
import type { Publisher } from './publisher.ts';

/** Pairs of profile and device that are remembered; see `#young`. */
const PAIRS_MAX = 25_000;
const ROTATE_MS = 300_000;
/** Pairs are published at least this far apart. */
const PUBLISH_EVERY_MS = 1_000;

/** A device of a profile, as a sender with a secret names them. */
export interface NamedDevice {
  readonly projectId: StoredId;
  readonly profileId: ProfileId;
  readonly deviceId: DeviceId;
}

/**
 * Sends the owners of profiles the devices of each: the ones that a sender with a secret names in an event together with the profile. After
 * a pair was published, the pairs of the next second travel together, because a message for each would cost the bus, the owner and the
 * store more than the event itself. A pair is published again after five to ten minutes, because the profile may be made meanwhile and no
 * answer promised that the first message is stored.
 */
export class ProfileDevices implements PublishWaiter {
  readonly #publisher: Publisher<EntityUpdate>;
  /** Two generations of at most `PAIRS_MAX`; the older one is dropped at each rotation. */
  #young = new Set<string>();
  #old = new Set<string>();
  #rotateAtMs = 0;
  readonly #waiting: DeviceUpdate[] = [];
  #publishedAtMs = 0;

  constructor(publisher: Publisher<EntityUpdate>) {
    this.#publisher = publisher;
  }

  /** Publishes the pair, or queues it for the next `publish`, unless that was done lately. Does not wait. */
  note({ projectId, profileId, deviceId }: NamedDevice, nowMs: number): void {
    const authority = bySecret(deviceId);
    if (authority.devices.length === 0) return;
    if (nowMs >= this.#rotateAtMs || this.#young.size >= PAIRS_MAX) this.#rotate(nowMs);
    const pair = `${projectId}\n${profileId}\n${deviceId}`;
    if (this.#young.has(pair) || this.#old.has(pair) || this.#waiting.length >= PAIRS_MAX) return;
    this.#young.add(pair);
    this.#waiting.push({ kind: 'device', projectId, id: profileId, atMs: nowMs, updateId: '', authority });
    if (nowMs - this.#publishedAtMs >= PUBLISH_EVERY_MS) this.publish(nowMs);
  }

  /** Publishes queued pairs, unless the bus takes nothing now. Does not wait. */
  publish(nowMs: number): void {
    if (this.#waiting.length === 0 || this.#publisher.rejectReason() !== undefined) return;
    this.#publishedAtMs = nowMs;
    for (const update of this.#waiting.splice(0)) {
      const key = entityKeyOf('profile', update.id);
      this.#publisher.add(laneHashOf(update.projectId, key, this.#publisher.layout), update, this);
    }
  }

  published(): void {}

  #rotate(nowMs: number): void {
    this.#old = this.#young;
    this.#young = new Set();
    this.#rotateAtMs = nowMs + ROTATE_MS;
  }
}
