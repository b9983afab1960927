import { entityKeyOf } from '../entity-lookup.ts';
import type { DeviceUpdate, EntityUpdate } from '../entity-update.ts';
import { partitionOf } from '../event.ts';
import { bySecret } from '../identity/authority.ts';
import type { Publisher, PublishWaiter } from './publisher.ts';

/** Pairs of profile and device that are remembered; see `#young`. */
const PAIRS_MAX = 25_000;
const ROTATE_MS = 300_000;

/** A device of a profile, as a sender with a secret names them. */
export interface NamedDevice {
  readonly projectId: string;
  readonly profileId: string;
  readonly deviceId: string;
}

/**
 * Tells the owners of profiles which devices are theirs: those that a sender with a secret names in an event together with
 * the profile. A pair is published again after five to ten minutes, because the profile may be made meanwhile and no answer
 * promised that the first message is stored.
 */
export class ProfileDevices implements PublishWaiter {
  readonly #publisher: Publisher<EntityUpdate>;
  readonly #partitions: number;
  /** Two generations of at most `PAIRS_MAX`; the older one is dropped at each rotation. */
  #young = new Set<string>();
  #old = new Set<string>();
  #rotateAtMs = 0;

  constructor(publisher: Publisher<EntityUpdate>, partitions: number) {
    this.#publisher = publisher;
    this.#partitions = partitions;
  }

  /** Publishes the pair, unless that was done lately or the bus takes nothing now. Waits for nothing. */
  note({ projectId, profileId, deviceId }: NamedDevice, nowMs: number): void {
    const authority = bySecret(deviceId);
    if (authority.devices.length === 0) return;
    if (nowMs >= this.#rotateAtMs || this.#young.size >= PAIRS_MAX) this.#rotate(nowMs);
    const pair = `${projectId}\n${profileId}\n${deviceId}`;
    if (this.#young.has(pair) || this.#old.has(pair)) return;
    if (this.#publisher.rejectReason() !== undefined) return;
    this.#young.add(pair);
    const update: DeviceUpdate = {
      kind: 'device',
      projectId,
      id: profileId,
      atMs: nowMs,
      updateId: '',
      authority,
    };
    this.#publisher.add(
      partitionOf(projectId, entityKeyOf('profile', profileId), this.#partitions),
      update,
      this,
    );
  }

  published(): void {}

  #rotate(nowMs: number): void {
    this.#old = this.#young;
    this.#young = new Set();
    this.#rotateAtMs = nowMs + ROTATE_MS;
  }
}
