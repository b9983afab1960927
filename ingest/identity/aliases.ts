import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes, KeyedValue } from '../../infra/bus/keyed-bytes.ts';
import type { Logger } from '../../infra/log.ts';
import { ALIASES_BUCKET, type Alias, decodeAlias, encodeAlias } from '../entity-update.ts';

/** Every collector holds all of them; above it no more are taken. */
const ALIASES_MAX = 1_000_000;
const CHAIN_MAX = 32;
const TRIES_MAX = 5;

/**
 * Which profiles are other names of others: a mirror of the bucket `aliases`, so that an event is told its profile
 * without asking anybody. What was recorded under the alias before stays as it is.
 */
export class Aliases {
  readonly #bucket: KeyedBytes;
  readonly #log: Logger;
  /** The profile that a name stands for, by the key of its record. */
  readonly #targets = new Map<string, string>();
  #stop: () => void = () => {};

  private constructor(bucket: KeyedBytes, log: Logger) {
    this.#bucket = bucket;
    this.#log = log;
  }

  /** Resolves once every alias that is stored now is known. */
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

  /** The end of a chain of names, each of which stands for the next. */
  #endOf(projectId: string, chain: string[]): string {
    for (;;) {
      const last = chain[chain.length - 1] ?? '';
      const target = this.#targets.get(keyOf(projectId, last));
      if (target === undefined || chain.length > CHAIN_MAX) return last;
      const start = chain.indexOf(target);
      // Two nodes closed a circle at once: everybody in it is the one whose name sorts first, on every node.
      if (start >= 0) return chain.slice(start).sort()[0] ?? last;
      chain.push(target);
    }
  }

  /**
   * Stores that `alias` stands for `profileId` from now on. `circle`: it is what `profileId` stands for; `full`: there
   * are too many. Throws a BusError when the bus does not confirm.
   */
  async put(alias: Alias): Promise<'stored' | 'circle' | 'full'> {
    const { projectId, profileId } = alias;
    const key = keyOf(projectId, alias.alias);
    if (this.resolve(projectId, profileId) === alias.alias) return 'circle';
    if (this.#targets.size >= ALIASES_MAX && !this.#targets.has(key)) return 'full';
    for (let attempt = 1; ; attempt += 1) {
      const stored = await this.#bucket.get(key);
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
    else this.#log.error({ key, revision }, 'a stored alias cannot be read; it is ignored');
  }
}

/** Ids may hold any characters, a key of the bucket may not. */
function keyOf(projectId: string, alias: string): string {
  return `${Buffer.from(projectId).toString('base64url')}.${Buffer.from(alias).toString('base64url')}`;
}
