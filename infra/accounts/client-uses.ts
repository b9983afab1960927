import { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import type { KeyedBytes } from '../bus/keyed-bytes.ts';
import { type Entry, encodeJson, followBucket, Mirror } from '../bus/mirror.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { type Accounts, type Client, clientKeyOf } from './accounts.ts';

/** CONTRACT between the processes that accept clients: when each client was last used, as JSON by `client.<uuid>`. */
export const CLIENT_USES_BUCKET = 'client-uses';

const instant = z.iso.datetime();
const useSchema = z.object({ usedAt: instant, recordedAt: instant });
type ClientUse = z.output<typeof useSchema>;

/** Over all processes, a client's use is recorded once in this time. */
export const RECORD_EVERY_MS = 60_000;
const LOOK_EVERY_MS = 15_000;

export interface ClientUsesOptions {
  readonly bus: Bus;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The times at which clients were last used. A use costs a write to memory. It is recorded on the bus within a little more than
 * `RECORD_EVERY_MS`, and is lost if the process is killed before; recorded uses survive restarts.
 */
export class ClientUses {
  readonly #bus: Bus;
  readonly #accounts: Accounts;
  readonly #clock: Clock;
  readonly #bucket: KeyedBytes;
  readonly #recorded = new Mirror<ClientUse>('client.', useSchema);
  /** Uses of this process that are not recorded, by client id. */
  readonly #unrecorded = new Map<string, number>();
  #stopFollowing: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #recording: Promise<void> = Promise.resolve();

  private constructor({ bus, accounts, clock }: ClientUsesOptions, bucket: KeyedBytes) {
    this.#bus = bus;
    this.#accounts = accounts;
    this.#clock = clock;
    this.#bucket = bucket;
  }

  /** Resolves once every recorded use is known. */
  static async open(options: ClientUsesOptions): Promise<ClientUses> {
    const bucket = await options.bus.keyed(CLIENT_USES_BUCKET);
    const uses = new ClientUses(options, bucket);
    const stopMirror = await followBucket(bucket, [uses.#recorded], options.log);
    const { clients } = options.accounts;
    const stopRemoving = clients.onChange((after, before) => {
      if (after === undefined && before !== undefined) uses.#remove(before.key);
    });
    uses.#stopFollowing = () => {
      stopMirror();
      stopRemoving();
    };
    // Clients may have been removed while no process ran.
    for (const { key } of uses.#recorded.entries()) if (clients.entry(key) === undefined) uses.#remove(key);
    uses.#timer = setInterval(() => void uses.record(), LOOK_EVERY_MS).unref();
    return uses;
  }

  /** Notes that a request of the client was accepted now. */
  note({ id }: Pick<Client, 'id'>): void {
    this.#unrecorded.set(id, this.#clock.nowMs());
  }

  /** Time of the last recorded use of the client. */
  usedAt(id: string): string | undefined {
    return this.#recorded.get(clientKeyOf(id))?.usedAt;
  }

  /** Records the uses whose turn it is. A timer calls it. Failures are repeated the next time. */
  record(): Promise<void> {
    this.#recording = this.#recording.then(() => this.#recordAll());
    return this.#recording;
  }

  /** Records what may be recorded now. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.record();
    this.#stopFollowing();
  }

  async #recordAll(): Promise<void> {
    for (const [id, usedAtMs] of [...this.#unrecorded]) {
      if (!this.#bus.connected) return;
      const key = clientKeyOf(id);
      const entry = this.#recorded.entry(key);
      if (this.#accounts.clients.entry(key) === undefined || isRecorded(entry, usedAtMs))
        this.#drop(id, usedAtMs);
      else if (this.#isTurn(entry) && (await this.#put(key, usedAtMs, entry))) this.#drop(id, usedAtMs);
    }
  }

  /** True if a minute has passed since any process recorded a use of the client; a clock that was set back does not block. */
  #isTurn(entry: Entry<ClientUse> | undefined): boolean {
    if (entry === undefined) return true;
    const sinceMs = this.#clock.nowMs() - Date.parse(entry.value.recordedAt);
    return sinceMs >= RECORD_EVERY_MS || sinceMs <= -RECORD_EVERY_MS;
  }

  /** False when another process recorded a use at the same time, or the bus is unavailable. */
  async #put(key: string, usedAtMs: number, entry: Entry<ClientUse> | undefined): Promise<boolean> {
    const use: ClientUse = {
      usedAt: new Date(usedAtMs).toISOString(),
      recordedAt: new Date(this.#clock.nowMs()).toISOString(),
    };
    try {
      const bytes = encodeJson(use);
      const revision = await this.#bucket.put(key, bytes, entry?.revision ?? 0);
      this.#recorded.take({ key, bytes, revision });
      return true;
    } catch {
      return false; // Tried again with the next turn.
    }
  }

  /** A later use of the client stays. */
  #drop(id: string, usedAtMs: number): void {
    if (this.#unrecorded.get(id) === usedAtMs) this.#unrecorded.delete(id);
  }

  #remove(key: string): void {
    const entry = this.#recorded.entry(key);
    // One of the processes succeeds; records that all of them miss are removed at the next start.
    if (entry !== undefined) this.#bucket.remove(key, entry.revision).catch(() => {});
  }
}

function isRecorded(entry: Entry<ClientUse> | undefined, usedAtMs: number): boolean {
  return entry !== undefined && Date.parse(entry.value.usedAt) >= usedAtMs;
}
