/** Waits that a single call ends together. */
export class Notify {
  readonly #wakes = new Set<() => void>();
  #isOver = false;

  /** Resolves after `ms`, or sooner by `wake`. */
  sleep(ms: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#wakes.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wakes.add(wake);
    });
  }

  /** Resolves by `wake` only. */
  wait(): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#wakes.delete(wake);
        resolve();
      };
      this.#wakes.add(wake);
    });
  }

  /** Ends the current waits. */
  wake(): void {
    for (const wake of [...this.#wakes]) wake();
  }

  /** Ends the current waits; later ones resolve immediately. */
  end(): void {
    this.#isOver = true;
    this.wake();
  }
}
