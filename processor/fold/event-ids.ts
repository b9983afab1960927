import { must } from '../../infra/assert.ts';
import { OwnersBySize, type SizedOwner } from '../../infra/cache/owners-by-size.ts';
import { type BucketTable, bucketOf, createBuckets, putFirst, splitBucket, takeOff } from './bucket-table.ts';
import { grown } from './column.ts';
import { type HashKey, keyedHash } from './keyed-hash.ts';

const FIRST_CAPACITY = 256;
const GROWTH = 16_384;
const ID_BYTES = 16;
const HASH_WORDS = 4;
/** More entries than buckets: the lists stay short, and a bucket takes four bytes. */
const ENTRIES_PER_BUCKET = 2;
/** Times are kept as 32 bits of milliseconds since a base, which moves long before they are used up. */
const TIMES_MAX = 4_294_967_295;
const BASE_MOVES_AT = 2_147_483_648;

/** A recorded event id: when it came, and in which session (32 hexadecimal digits; empty: none). */
export interface SeenEvent {
  readonly atMs: number;
  readonly sessionId: string;
}

/** A site's ids: a list from the oldest to the newest. */
interface SiteIds extends SizedOwner<SiteIds> {
  readonly site: string;
  /** Begins the hash of its ids. */
  readonly number: number;
  oldest: number;
  newest: number;
}

export interface EventIdsOptions {
  /** Ids of all sites together. */
  readonly max: number;
  /** Time for which an id is needed; an older id is only known to be older. */
  readonly memoryMs: number;
  /** Random: with a known key, a sender could choose ids that collide. */
  readonly key: HashKey;
}

/**
 * The recorded event ids of all sites, 50 bytes each. When there are too many, the site with the most loses its oldest,
 * as in `FairCache`: a flooding site forgets its own ids, and each of n sites retains at least an n-th of all, or all
 * of its own.
 *
 * An id is known by 128 bits of a keyed hash. Two ids with the same bits would count as one: the second event would be
 * dropped as a repeat. With 50 million ids, this happens to one event in 10³⁰. The key is made at random when a process
 * begins and never leaves it, so senders cannot search for such ids.
 */
export class EventIds {
  readonly #options: EventIdsOptions;
  readonly #sites = new Map<string, SiteIds>();
  readonly #bySize = new OwnersBySize<SiteIds>();
  readonly #buckets: BucketTable = createBuckets();
  readonly #sought = new Uint32Array(HASH_WORDS);
  #soughtId = '';
  #soughtSite = 0;
  #capacity = FIRST_CAPACITY;
  #used = 1;
  #firstFree = 0;
  #size = 0;
  #siteNumber = 0;
  #baseMs = Number.NaN;
  #hashes = new Uint32Array(FIRST_CAPACITY * HASH_WORDS);
  #sessionIds = new Uint8Array(FIRST_CAPACITY * ID_BYTES);
  /** Milliseconds since the base. */
  #times = new Uint32Array(FIRST_CAPACITY);
  #older = new Uint32Array(FIRST_CAPACITY);
  #newer = new Uint32Array(FIRST_CAPACITY);
  #next = new Uint32Array(FIRST_CAPACITY);

  constructor(options: EventIdsOptions) {
    this.#options = options;
  }

  /** The number of ids. */
  get size(): number {
    return this.#size;
  }

  /** Memory of the entries, including free room. */
  get bytes(): number {
    const columns = [this.#hashes, this.#sessionIds, this.#times, this.#older, this.#newer, this.#next];
    return [...columns, this.#buckets.heads].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  peek(site: string, id: string): SeenEvent | undefined {
    const ids = this.#sites.get(site);
    const slot = ids === undefined ? 0 : this.#find(ids, id);
    if (slot === 0) return undefined;
    return { atMs: this.#timeOf(slot), sessionId: this.#sessionIdOf(slot) };
  }

  /** Adds or replaces an id, which becomes its site's newest. `sessionId` as in `SeenEvent`. */
  set(site: string, id: string, { atMs, sessionId }: SeenEvent): void {
    const ids = this.#sites.get(site) ?? this.#addSite(site);
    const known = this.#find(ids, id);
    if (known !== 0) this.#remove(ids, known);
    // The site may have lost its last id by that, and is then no site of this list.
    this.#sites.set(site, ids);
    this.#append(ids, atMs, sessionId);
    if (this.#size <= this.#options.max) return;
    const largest = must(this.#bySize.largest, 'no site has ids');
    this.#remove(largest, largest.oldest);
  }

  deleteOwner(site: string): void {
    const ids = this.#sites.get(site);
    while (ids !== undefined && ids.size > 0) this.#remove(ids, ids.oldest);
  }

  /** When the site's oldest id was recorded; undefined when it has none. */
  oldestMs(site: string): number | undefined {
    const ids = this.#sites.get(site);
    return ids === undefined ? undefined : this.#timeOf(ids.oldest);
  }

  evictOldest(site: string): void {
    const ids = this.#sites.get(site);
    if (ids !== undefined) this.#remove(ids, ids.oldest);
  }

  /** The sites that have ids. A site may lose all of them meanwhile. */
  owners(): IterableIterator<string> {
    return this.#sites.keys();
  }

  /** The slot of an id; 0 when it is not known. From then on its hash is the sought one. */
  #find({ number }: SiteIds, id: string): number {
    // An id is looked up before it is added, so its hash is often here.
    if (id !== this.#soughtId || number !== this.#soughtSite)
      keyedHash(this.#options.key, number, id, this.#sought);
    this.#soughtId = id;
    this.#soughtSite = number;
    let slot = this.#buckets.heads[bucketOf(this.#buckets, this.#sought[0] ?? 0)] ?? 0;
    while (slot !== 0 && !this.#hasSought(slot)) slot = this.#next[slot] ?? 0;
    return slot;
  }

  #hasSought(slot: number): boolean {
    for (let word = 0; word < HASH_WORDS; word += 1)
      if (this.#hashes[slot * HASH_WORDS + word] !== this.#sought[word]) return false;
    return true;
  }

  /** Adds the id that was sought last as the site's newest. */
  #append(ids: SiteIds, atMs: number, sessionId: string): void {
    const slot = this.#takeSlot();
    this.#hashes.set(this.#sought, slot * HASH_WORDS);
    if (sessionId !== '')
      Buffer.from(this.#sessionIds.buffer, slot * ID_BYTES, ID_BYTES).write(sessionId, 'hex');
    this.#times[slot] = this.#offsetOf(atMs);
    this.#older[slot] = ids.newest;
    if (ids.newest === 0) ids.oldest = slot;
    else this.#newer[ids.newest] = slot;
    ids.newest = slot;
    putFirst(this.#buckets, this.#next, slot, this.#sought[0] ?? 0);
    this.#size += 1;
    this.#bySize.resize(ids, ids.size + 1);
    if (this.#size > this.#buckets.count * ENTRIES_PER_BUCKET)
      splitBucket(this.#buckets, this.#next, this.#hashes, firstWord);
  }

  #remove(ids: SiteIds, slot: number): void {
    const older = this.#older[slot] ?? 0;
    const newer = this.#newer[slot] ?? 0;
    if (older === 0) ids.oldest = newer;
    else this.#newer[older] = newer;
    if (newer === 0) ids.newest = older;
    else this.#older[newer] = older;
    takeOff(this.#buckets, this.#next, slot, firstWord(this.#hashes, slot));
    this.#size -= 1;
    this.#bySize.resize(ids, ids.size - 1);
    if (ids.size === 0) this.#sites.delete(ids.site);
    this.#freeSlot(slot);
  }

  #addSite(site: string): SiteIds {
    this.#siteNumber = (this.#siteNumber + 1) >>> 0;
    return {
      site,
      number: this.#siteNumber,
      size: 0,
      oldest: 0,
      newest: 0,
      before: undefined,
      after: undefined,
    };
  }

  #takeSlot(): number {
    const slot = this.#firstFree;
    if (slot !== 0) {
      this.#firstFree = this.#next[slot] ?? 0;
      this.#next[slot] = 0;
      return slot;
    }
    if (this.#used === this.#capacity) this.#grow();
    this.#used += 1;
    return this.#used - 1;
  }

  #freeSlot(slot: number): void {
    this.#sessionIds.fill(0, slot * ID_BYTES, (slot + 1) * ID_BYTES);
    this.#older[slot] = 0;
    this.#newer[slot] = 0;
    this.#next[slot] = this.#firstFree;
    this.#firstFree = slot;
  }

  #grow(): void {
    const capacity = this.#capacity + GROWTH;
    this.#hashes = grown(this.#hashes, capacity, HASH_WORDS);
    this.#sessionIds = grown(this.#sessionIds, capacity, ID_BYTES);
    this.#times = grown(this.#times, capacity);
    this.#older = grown(this.#older, capacity);
    this.#newer = grown(this.#newer, capacity);
    this.#next = grown(this.#next, capacity);
    this.#capacity = capacity;
  }

  #timeOf(slot: number): number {
    return this.#baseMs + (this.#times[slot] ?? 0);
  }

  /** A time that lies before the base is long over: the base is older than any id that is still needed. */
  #offsetOf(atMs: number): number {
    if (Number.isNaN(this.#baseMs)) this.#baseMs = atMs - 2 * this.#options.memoryMs;
    if (atMs - this.#baseMs > BASE_MOVES_AT) this.#moveBase(atMs - 2 * this.#options.memoryMs);
    return Math.min(TIMES_MAX, Math.max(0, atMs - this.#baseMs));
  }

  #moveBase(baseMs: number): void {
    const movedMs = baseMs - this.#baseMs;
    for (let slot = 1; slot < this.#used; slot += 1)
      this.#times[slot] = Math.max(0, (this.#times[slot] ?? 0) - movedMs);
    this.#baseMs = baseMs;
  }

  #sessionIdOf(slot: number): string {
    const start = slot * ID_BYTES;
    const bytes = this.#sessionIds.subarray(start, start + ID_BYTES);
    return bytes.every((byte) => byte === 0)
      ? ''
      : Buffer.from(this.#sessionIds.buffer, start, ID_BYTES).toString('hex');
  }
}

function firstWord(hashes: Uint32Array, slot: number): number {
  return hashes[slot * HASH_WORDS] ?? 0;
}
