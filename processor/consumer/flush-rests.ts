interface Rest<State> {
  readonly begin: (state: State) => Promise<void>;
  readonly giveUp: () => void;
}

/** Runs work between two flushes: after one that begins after the request, and before the next one. */
export class FlushRests<State> {
  readonly #waiting = new Set<Rest<State>>();

  /**
   * Runs `work` after the flush that `flush` causes.
   * @throws {Error} when that flush fails, or none comes because the lane stops
   */
  during<Result>(flush: () => Promise<void>, work: (state: State) => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new Error('the lane stops'));
      const begin = (state: State) => work(state).then(resolve, reject);
      const rest = { begin, giveUp };
      this.#waiting.add(rest);
      flush().then(() => {
        // The flush that has ended took it along, unless there was none.
        if (this.#waiting.delete(rest)) giveUp();
      }, reject);
    });
  }

  /** Flushes, and runs the work that waited when the flush began, with the state after it. Errors of `work` go to its caller. */
  async around(flush: () => Promise<State>): Promise<void> {
    const waited = [...this.#waiting];
    this.#waiting.clear();
    try {
      const state = await flush();
      for (const { begin } of waited) await begin(state);
    } catch (error) {
      for (const { giveUp } of waited) giveUp();
      throw error;
    }
  }
}
