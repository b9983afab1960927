/**
 * Tells whether the lease of another process has ended. An owner that lives writes its record at least three times during a
 * lease, and every write changes the revision. So only the time that passes here is measured, and no two clocks are
 * compared: whoever is wrong about the time of day neither keeps a lane for longer nor loses it.
 */
export class LeaseWatch {
  readonly #elapsedMs: () => number;
  #revision = 0;
  #sinceMs = 0;

  /** @param elapsedMs milliseconds from any beginning, which nobody sets */
  constructor(elapsedMs: () => number = () => performance.now()) {
    this.#elapsedMs = elapsedMs;
  }

  /** Whether the record has had this revision for the length of a lease, as far as we have seen. */
  hasEnded(revision: number, leaseMs: number): boolean {
    const nowMs = this.#elapsedMs();
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#sinceMs = nowMs;
    }
    return nowMs - this.#sinceMs >= leaseMs;
  }
}
