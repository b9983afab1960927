/** Under load, measured so often. */
const EVERY_MS = 50;
/** An older measurement is out of date. */
const FRESH_MS = 500;
/** The kernel ignores it in a process without a handler, and no other program sends it to ours. */
const SIGNAL = 'SIGURG';

/**
 * Measures how long requests wait in their sockets until this process reads them. While a process is busy, requests
 * wait in the kernel, out of sight of our code. So the process regularly sends itself a signal. libuv learns of signals
 * by a pipe, and the kernel hands over sockets and pipes in the order of becoming readable: the signal waits like a
 * request that arrived with it. Without requests none is sent.
 *
 * A signal has one more use. While more than a thousand sockets are readable, libuv continues reading up to 49,152
 * times in one turn of its loop, possibly for seconds. New connections, timers and immediates wait for its end. A
 * signal ends the turn (`uv__io_poll` in libuv's `src/unix/linux.c`), so a turn handles at most the requests that were
 * waiting when it was sent.
 */
export class SocketWait {
  /** Send time of the signal that has not been handled yet. */
  #sentMs: number | undefined;
  #tookMs = 0;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor() {
    process.on(SIGNAL, this.#handle);
  }

  /** Milliseconds, as measured last, or more when the signal that is on its way has waited for longer. To be asked for each request. */
  waitMs(): number {
    const nowMs = performance.now();
    const sinceMs = nowMs - this.#readMs;
    const tookMs = sinceMs <= FRESH_MS ? this.#tookMs : 0;
    if (this.#sentMs !== undefined) return Math.max(tookMs, nowMs - this.#sentMs);
    if (sinceMs >= EVERY_MS) {
      this.#sentMs = nowMs;
      process.kill(process.pid, SIGNAL);
    }
    return tookMs;
  }

  stop(): void {
    process.off(SIGNAL, this.#handle);
  }

  readonly #handle = (): void => {
    const nowMs = performance.now();
    this.#tookMs = nowMs - (this.#sentMs ?? nowMs);
    this.#readMs = nowMs;
    this.#sentMs = undefined;
  };
}
