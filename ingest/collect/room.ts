/** Waiting requests continue without room when nothing leaves the queue for this long. */
const STALLED_MS = 1_000;

/**
 * Lets large requests wait for room in a queue that all requests share, so that small ones never wait behind all of a large one. Requests
 * that add little do not ask.
 */
export class Room {
  readonly #isCrowded: () => boolean;
  #waiting: ((hasRoom: boolean) => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(isCrowded: () => boolean) {
    this.#isCrowded = isCrowded;
  }

  get isCrowded(): boolean {
    return this.#isCrowded();
  }

  /** Resolves with true once there is room, and with false when nothing has left the queue for a second. */
  async wait(): Promise<boolean> {
    if (!this.#isCrowded()) return true;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#timer ??= setTimeout(this.#release, STALLED_MS, false);
    });
  }

  /** To be called when something has left the queue. */
  check(): void {
    if (this.#waiting.length === 0) return;
    if (this.#isCrowded()) this.#timer?.refresh();
    else this.#release(true);
  }

  readonly #release = (hasRoom: boolean): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve(hasRoom);
  };
}
