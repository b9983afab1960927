/** Work that waits, and the networks that it counts for, the narrowest first. */
export interface QueuedWork {
  readonly names: readonly string[];
  readonly run: () => Promise<void>;
  /** Called once when others take its place. */
  readonly pushOut: () => void;
}

/** A network with its maximum number of waiting works. */
export interface NetworkPlace {
  readonly name: string;
  readonly max: number;
}

/**
 * Work that waits, grouped by the widest network. Groups take turns, so a group with much work delays another by one turn. Everything in
 * here has a place, so the maps have at most `waitingMax` entries for each size of a network.
 */
export class WaitingTurns {
  readonly #waitingMax: number;
  /** The next group in turn comes first; none is empty. */
  readonly #groups = new Map<string, QueuedWork[]>();
  /** By network, with what runs now. */
  readonly #countOf = new Map<string, number>();
  #count = 0;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** Returns true if work of these networks, the narrowest first, may be added; pushes out the newest of the largest group if need be. */
  makeRoom(places: readonly NetworkPlace[]): boolean {
    if (places.some(({ name, max }) => (this.#countOf.get(name) ?? 0) >= max)) return false;
    if (this.#count < this.#waitingMax) return true;
    const largest = this.#largest();
    const own = this.#groups.get(places.at(-1)?.name ?? '')?.length ?? 0;
    // Otherwise two groups of the same size would push each other out.
    if (largest === undefined || largest.length <= own + 1) return false;
    const work = largest.pop();
    if (work === undefined) return false;
    this.leave(work);
    work.pushOut();
    return true;
  }

  add(work: QueuedWork): void {
    this.#count += 1;
    for (const name of work.names) this.#countOf.set(name, (this.#countOf.get(name) ?? 0) + 1);
    const name = groupOf(work);
    const group = this.#groups.get(name);
    if (group === undefined) this.#groups.set(name, [work]);
    else group.push(work);
  }

  /** The next work in turn. It keeps its place until `leave`. */
  takeNext(): QueuedWork | undefined {
    for (const [name, group] of this.#groups) {
      const work = group.shift();
      this.#groups.delete(name);
      if (group.length > 0) this.#groups.set(name, group);
      return work;
    }
    return undefined;
  }

  leave(work: QueuedWork): void {
    this.#count -= 1;
    for (const name of work.names) {
      const count = (this.#countOf.get(name) ?? 1) - 1;
      if (count === 0) this.#countOf.delete(name);
      else this.#countOf.set(name, count);
    }
  }

  #largest(): QueuedWork[] | undefined {
    let largest: QueuedWork[] | undefined;
    for (const group of this.#groups.values())
      if (largest === undefined || group.length > largest.length) largest = group;
    return largest;
  }
}

function groupOf({ names }: QueuedWork): string {
  return names.at(-1) ?? '';
}
