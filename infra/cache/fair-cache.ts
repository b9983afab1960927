import { must } from '../assert.ts';
import { OwnersBySize, type SizedOwner } from './owners-by-size.ts';

/** One entry, between the next older and the next newer one of its owner. */
interface SharedEntry<Value> {
  readonly key: string;
  value: Value;
  older: SharedEntry<Value> | undefined;
  newer: SharedEntry<Value> | undefined;
}

interface CacheOwner<Value> extends SizedOwner<CacheOwner<Value>> {
  readonly name: string;
  readonly entries: Map<string, SharedEntry<Value>>;
  oldest: SharedEntry<Value> | undefined;
  newest: SharedEntry<Value> | undefined;
}

/**
 * A cache shared by several owners. A full cache evicts the oldest entry of the owner with the most entries. So an owner
 * that floods the cache pushes out its own entries, and each of n owners retains at least `max / n` entries, or all of
 * them if it has fewer.
 *
 *     full, and `c` adds one       a ■■■■■■■■     a ■■■■■■■
 *                                  b ■■■■■     ─▶ b ■■■■■
 *                                  c ■            c ■■
 *
 * Every operation takes the same time for any number of owners and entries. `lru-cache` has one order of all entries,
 * in which a quiet owner's are always the oldest; and in a `Map`, finding the first key means skipping deleted ones.
 */
export class FairCache<Value> {
  readonly #max: number;
  readonly #owners = new Map<string, CacheOwner<Value>>();
  readonly #bySize = new OwnersBySize<CacheOwner<Value>>();
  #size = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** The number of entries. */
  get size(): number {
    return this.#size;
  }

  /** The value, which stays as old as it is. */
  peek(owner: string, key: string): Value | undefined {
    return this.#owners.get(owner)?.entries.get(key)?.value;
  }

  /** The value, which becomes its owner's newest. */
  get(owner: string, key: string): Value | undefined {
    const known = this.#owners.get(owner);
    const entry = known?.entries.get(key);
    if (known === undefined || entry === undefined) return undefined;
    makeNewest(known, entry);
    return entry.value;
  }

  /** Adds or replaces a value, which becomes its owner's newest. */
  set(owner: string, key: string, value: Value): void {
    const known = this.#owners.get(owner) ?? this.#add(owner);
    const entry = known.entries.get(key);
    if (entry !== undefined) {
      entry.value = value;
      makeNewest(known, entry);
      return;
    }
    if (this.#size >= this.#max && known.size === this.#bySize.largestSize) {
      // Its own oldest makes room, so it stays as large as it is. A flood takes this way.
      replaceOldest(known, key, value);
      return;
    }
    append(known, key, value);
    this.#bySize.resize(known, known.size + 1);
    this.#size += 1;
    if (this.#size > this.#max) this.#evictOldest(must(this.#bySize.largest, 'no owner'));
  }

  delete(owner: string, key: string): void {
    const known = this.#owners.get(owner);
    const entry = known?.entries.get(key);
    if (known !== undefined && entry !== undefined) this.#remove(known, entry);
  }

  deleteOwner(owner: string): void {
    const known = this.#owners.get(owner);
    if (known === undefined) return;
    this.#size -= known.size;
    this.#bySize.resize(known, 0);
    this.#owners.delete(owner);
  }

  /** The owner's oldest value. */
  oldest(owner: string): Value | undefined {
    return this.#owners.get(owner)?.oldest?.value;
  }

  evictOldest(owner: string): void {
    const known = this.#owners.get(owner);
    if (known !== undefined) this.#evictOldest(known);
  }

  /** The owners that have entries. An owner may lose all of them meanwhile. */
  owners(): IterableIterator<string> {
    return this.#owners.keys();
  }

  #evictOldest(owner: CacheOwner<Value>): void {
    this.#remove(owner, must(owner.oldest, 'an owner without entries'));
  }

  #remove(owner: CacheOwner<Value>, entry: SharedEntry<Value>): void {
    this.#size -= 1;
    unlink(owner, entry);
    owner.entries.delete(entry.key);
    this.#bySize.resize(owner, owner.size - 1);
    if (owner.size === 0) this.#owners.delete(owner.name);
  }

  #add(name: string): CacheOwner<Value> {
    const owner: CacheOwner<Value> = {
      name,
      entries: new Map(),
      size: 0,
      oldest: undefined,
      newest: undefined,
      before: undefined,
      after: undefined,
    };
    this.#owners.set(name, owner);
    return owner;
  }
}

function append<Value>(owner: CacheOwner<Value>, key: string, value: Value): void {
  const entry: SharedEntry<Value> = { key, value, older: owner.newest, newer: undefined };
  owner.entries.set(key, entry);
  if (owner.newest === undefined) owner.oldest = entry;
  else owner.newest.newer = entry;
  owner.newest = entry;
}

function replaceOldest<Value>(owner: CacheOwner<Value>, key: string, value: Value): void {
  const oldest = must(owner.oldest, 'an owner without entries');
  unlink(owner, oldest);
  owner.entries.delete(oldest.key);
  append(owner, key, value);
}

function makeNewest<Value>(owner: CacheOwner<Value>, entry: SharedEntry<Value>): void {
  if (entry === owner.newest) return;
  unlink(owner, entry);
  entry.older = owner.newest;
  if (owner.newest === undefined) owner.oldest = entry;
  else owner.newest.newer = entry;
  owner.newest = entry;
}

function unlink<Value>(owner: CacheOwner<Value>, entry: SharedEntry<Value>): void {
  const { older, newer } = entry;
  if (older === undefined) owner.oldest = newer;
  else older.newer = newer;
  if (newer === undefined) owner.newest = older;
  else newer.older = older;
  entry.older = undefined;
  entry.newer = undefined;
}
