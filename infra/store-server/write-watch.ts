import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../log.ts';
import type { Engine } from './engine.ts';

/**
 * The interval between checks of merges. The source files of a merge stay for `old_parts_lifetime`, 10 s
 * (`processor/schema/100_events.sql`): a failure found within that time costs nothing. A check takes 10 ms of a core.
 */
const CHECK_EVERY_MS = 2_000;

/**
 * Ends the process as soon as the engine could not write.
 *
 * chDB ignores errors of `write`, unlike a ClickHouse server: with a full disk it acknowledges an insert without
 * storing it, and replaces parts by a merged one with truncated files. But it counts these errors. So
 *
 *     statement ── engine ── count ─┬─ 0: answer
 *                                   └─ more: SIGKILL, no answer, so that the client repeats it
 *     merge ── count, every two seconds ── more: SIGKILL, while the merged parts are still there
 *
 * and the next start opens every part anew: it compares the sizes of the files with the intended ones, puts an
 * incomplete part aside, and takes its source parts.
 */
export class WriteWatch {
  readonly #engine: Engine;
  readonly #log: Logger;
  readonly #onFailure: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #looking: Promise<void> = Promise.resolve();

  /** `onFailure` must end the process immediately: nothing that runs may continue. */
  constructor({ engine, log, onFailure }: WriteWatchOptions) {
    this.#engine = engine;
    this.#log = log;
    this.#onFailure = onFailure;
    this.#schedule();
  }

  /** Resolves when no write of the engine has failed so far. Otherwise never: then the process ends. */
  async check(): Promise<void> {
    const failedWrites = await this.#engine.failedWrites();
    if (failedWrites === 0) return;
    this.#log.fatal(
      { failedWrites },
      'the disk is full or broken: the engine could not write, and would continue with incomplete files. The store ends; its next start repairs them',
    );
    this.#onFailure();
    await new Promise(() => {});
  }

  /** Looks for the last time. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await this.check();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.check()
        .catch((error: unknown) =>
          this.#log.error({ err: error }, 'failed writes could not be counted, retrying'),
        )
        .finally(() => this.#schedule());
    }, CHECK_EVERY_MS);
    this.#timer.unref();
  }
}

export interface WriteWatchOptions {
  readonly engine: Engine;
  readonly log: Logger;
  readonly onFailure: () => void;
}

/** Remembers for the next process that this one ended because a write failed. An empty file, which a full disk has room for. */
export class FailedWrite {
  readonly #path: string;

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'store-write-failed');
  }

  get isRemembered(): boolean {
    return existsSync(this.#path);
  }

  remember(): void {
    try {
      writeFileSync(this.#path, '');
    } catch {
      // On a disk that takes no file either, the next start warns of more than it has to.
    }
  }

  forget(): void {
    rmSync(this.#path, { force: true });
  }
}
