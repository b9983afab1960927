/**
 * Detects that the lease of another process has ended. A living owner writes its record at least three times during a lease, and every
 * write changes the revision. So only the time that passes here is measured, and no two clocks are compared: a process with a wrong time of
 * day neither keeps a lane for longer nor loses it.
 */
export class LeaseWatch {
  readonly #elapsedMs: () => number;
  #revision = 0;
  #sinceMs = 0;

  /** @param elapsedMs monotonic milliseconds from any beginning */
  constructor(elapsedMs: () => number = () => performance.now()) {
    this.#elapsedMs = elapsedMs;
  }

  /** True if the record has had this revision for the length of a lease, as far as we have seen. */
  hasEnded(revision: number, leaseMs: number): boolean {
    const nowMs = this.#elapsedMs();
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#sinceMs = nowMs;
    }
    return nowMs - this.#sinceMs >= leaseMs;
  }
}
