/**
 * What a process keeps of sites between questions, by what they are stored under, so that all of it can be let go when a
 * site is deleted or a person erased.
 */
export class SiteMemory {
  readonly #forgets: ((storedId: string) => void)[] = [];

  /** `forget` lets go of what is kept of a site. */
  keeps(forget: (storedId: string) => void): void {
    this.#forgets.push(forget);
  }

  forget(storedId: string): void {
    for (const forget of this.#forgets) forget(storedId);
  }
}
