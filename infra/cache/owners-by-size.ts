/** An owner of entries, and its neighbours among the owners with the same number of entries. */
export interface SizedOwner<Owner> {
  size: number;
  before: Owner | undefined;
  after: Owner | undefined;
}

/**
 * Knows which owner has the most entries. Every operation takes the same time, however many owners there are: owners of
 * one size are linked, and an owner that gains or loses an entry moves to the neighbouring size.
 */
export class OwnersBySize<Owner extends SizedOwner<Owner>> {
  /** The first of the linked owners, by their number of entries. */
  readonly #firstBySize = new Map<number, Owner>();
  #largestSize = 0;

  /** The number of entries of the largest owner. */
  get largestSize(): number {
    return this.#largestSize;
  }

  /** One of the owners that have the most entries; undefined when none has any. */
  get largest(): Owner | undefined {
    return this.#firstBySize.get(this.#largestSize);
  }

  /** Notes how many entries an owner has now; an owner without entries is not listed. */
  resize(owner: Owner, size: number): void {
    if (owner.size > 0) this.#unlink(owner);
    owner.size = size;
    if (size > 0) this.#link(owner);
    while (this.#largestSize > 0 && !this.#firstBySize.has(this.#largestSize)) this.#largestSize -= 1;
  }

  #link(owner: Owner): void {
    const { size } = owner;
    const first = this.#firstBySize.get(size);
    owner.after = first;
    if (first !== undefined) first.before = owner;
    this.#firstBySize.set(size, owner);
    if (size > this.#largestSize) this.#largestSize = size;
  }

  #unlink(owner: Owner): void {
    const { before, after, size } = owner;
    if (after !== undefined) after.before = before;
    if (before !== undefined) before.after = after;
    else if (after !== undefined) this.#firstBySize.set(size, after);
    else this.#firstBySize.delete(size);
    owner.before = undefined;
    owner.after = undefined;
  }
}
