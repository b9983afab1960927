interface Rest<State> {
  readonly begin: (state: State) => Promise<void>;
  readonly giveUp: () => void;
}

/** Work that runs between two flushes: behind one that begins after it was asked for, and before the next one. */
export class FlushRests<State> {
  readonly #waiting = new Set<Rest<State>>();

  /**
   * Runs `work` behind the flush that `flush` brings about.
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

  /** Flushes, and runs what waited when the flush began with the state behind it. Errors of `work` are those of who asked. */
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
