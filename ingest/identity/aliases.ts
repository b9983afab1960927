import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes, KeyedValue } from '../../infra/bus/keyed-bytes.ts';
import type { Logger } from '../../infra/log.ts';
import { ALIASES_BUCKET, type Alias, decodeAlias, encodeAlias } from '../entity-update.ts';

/** Every collector has all of them in memory; above this, new ones are rejected. */
const ALIASES_MAX = 1_000_000;
const CHAIN_MAX = 32;
const TRIES_MAX = 20;

/**
 * Which profiles are aliases of others: a mirror of the bucket `aliases`, so that an event gets its profile without
 * I/O. What was recorded under the alias before is not changed.
 */
export class Aliases {
  readonly #bucket: KeyedBytes;
  readonly #log: Logger;
  /** The profile that an alias stands for, by the key of its record. */
  readonly #targets = new Map<string, string>();
  #stop: () => void = () => {};

  private constructor(bucket: KeyedBytes, log: Logger) {
    this.#bucket = bucket;
    this.#log = log;
  }

  /** Resolves once every alias that is stored now has been read. */
  static async open(bus: Bus, log: Logger): Promise<Aliases> {
    const aliases = new Aliases(await bus.keyed(ALIASES_BUCKET), log);
    aliases.#stop = await aliases.#bucket.watch((value) => aliases.#take(value));
    return aliases;
  }

  /** The profile that `profileId` stands for: itself, unless it is an alias. */
  resolve(projectId: string, profileId: string): string {
    if (profileId === '' || this.#targets.size === 0) return profileId;
    const target = this.#targets.get(keyOf(projectId, profileId));
    return target === undefined ? profileId : this.#endOf(projectId, [profileId, target]);
  }

  /** The last name of a chain in which each name stands for the next. */
  #endOf(projectId: string, chain: string[]): string {
    for (;;) {
      const last = chain[chain.length - 1] ?? '';
      const target = this.#targets.get(keyOf(projectId, last));
      if (target === undefined || chain.length > CHAIN_MAX) return last;
      const start = chain.indexOf(target);
      // Two nodes closed a circle at the same time. All names in it resolve to the one that sorts first, on every node.
      if (start >= 0) return chain.slice(start).sort()[0] ?? last;
      chain.push(target);
    }
  }

  /**
   * Stores that `alias` stands for `profileId` from now on. `circle`: `profileId` already stands for `alias`; `full`:
   * there are too many aliases. Throws a BusError when the bus does not confirm.
   */
  async put(alias: Alias): Promise<'stored' | 'circle' | 'full'> {
    const { projectId, profileId } = alias;
    const key = keyOf(projectId, alias.alias);
    if (this.resolve(projectId, profileId) === alias.alias) return 'circle';
    if (this.#targets.size >= ALIASES_MAX && !this.#targets.has(key)) return 'full';
    for (let attempt = 1; ; attempt += 1) {
      const stored = await this.#bucket.get(key);
      // Another request was first with the same alias: there is nothing left to write.
      if (stored?.bytes !== undefined && decodeAlias(stored.bytes)?.profileId === profileId) {
        this.#targets.set(key, profileId);
        return 'stored';
      }
      try {
        await this.#bucket.put(key, encodeAlias(alias), stored?.revision ?? 0);
        this.#targets.set(key, profileId);
        return 'stored';
      } catch (error) {
        const isConflict = error instanceof BusError && error.reason === 'conflict';
        if (!isConflict || attempt === TRIES_MAX) throw error;
      }
    }
  }

  stop(): void {
    this.#stop();
  }

  #take({ key, bytes, revision }: KeyedValue): void {
    if (bytes === undefined) {
      this.#targets.delete(key);
      return;
    }
    const alias = decodeAlias(bytes);
    if (alias !== undefined) this.#targets.set(key, alias.profileId);
    else this.#log.error({ key, revision }, 'unreadable alias record ignored');
  }
}

/** Ids may contain any characters, but a key of the bucket may not. */
function keyOf(projectId: string, alias: string): string {
  return `${Buffer.from(projectId).toString('base64url')}.${Buffer.from(alias).toString('base64url')}`;
}
