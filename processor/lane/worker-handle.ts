import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import type { NamedSession } from '../fold/ended-sessions.ts';
import type { RestoredPart, StoredMinute, StoredSeen } from '../fold/restore.ts';
import type { EndedByPlace } from '../fold/session-answers.ts';
import type { HotQuestion } from '../hot.ts';
import type { CutBatch, FoldReport, OpenTask, SessionsReport, WorkerTask } from './worker-tasks.ts';

/** A thread that was asked to end is over by then, whether its exit was reported or not. */
const EXIT_WAIT_MAX_MS = 3_000;

/**
 * The main thread's side of one worker thread: a pool of exactly one, because a partition's state lives in the thread
 * that opened it, and a larger pool would give the next task to any of its threads.
 */
export class WorkerHandle {
  readonly #pool: Piscina<WorkerTask, unknown>;

  constructor(filename: string) {
    this.#pool = new Piscina({
      filename,
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // On one core a thread that spins for its next task takes time from the one that would send it.
      atomics: availableParallelism() > 1 ? 'sync' : 'disabled',
    });
  }

  open(task: Omit<OpenTask, 'kind'>): Promise<void> {
    return this.#run<void>({ kind: 'open', ...task });
  }
  /** Passes rows of the store on. The bytes, which have a buffer of their own, move to the thread. */
  restore(partition: number, part: RestoredPart, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#run<void>({ kind: 'restore', partition, part, bytes }, [bytes.buffer]);
  }
  restoreMinutes(partition: number, minutes: readonly StoredMinute[]): Promise<void> {
    return this.#run<void>({ kind: 'restore-minutes', partition, minutes });
  }
  restoreSeen(partition: number, seen: readonly StoredSeen[]): Promise<void> {
    return this.#run<void>({ kind: 'restore-seen', partition, seen });
  }

  /**
   * Folds messages in their order, up to one that names a session which has to be loaded first. Their bytes are copied
   * once, into one piece that moves to the thread.
   */
  fold(
    partition: number,
    messages: readonly { readonly sequence: number; readonly bytes: Uint8Array }[],
  ): Promise<FoldReport> {
    let length = 0;
    for (const { bytes } of messages) length += bytes.length;
    const bytes = new Uint8Array(length);
    let offset = 0;
    for (const message of messages) {
      bytes.set(message.bytes, offset);
      offset += message.bytes.length;
    }
    const index = messages.map((message) => [message.sequence, message.bytes.length] as const);
    return this.#run<FoldReport>({ kind: 'fold', partition, bytes, messages: index }, [bytes.buffer]);
  }

  /** Passes the stored states of the sessions that a fold stopped for. */
  ended(partition: number, named: readonly NamedSession[], rows: Uint8Array): Promise<void> {
    return this.#run<void>({ kind: 'ended', partition, named, rows: Uint8Array.from(rows) });
  }

  cut(partition: number): Promise<CutBatch | undefined> {
    return this.#run<CutBatch | undefined>({ kind: 'cut', partition });
  }
  flushed(partition: number): Promise<void> {
    return this.#run<void>({ kind: 'flushed', partition });
  }
  hot(partition: number, question: HotQuestion): Promise<Uint8Array> {
    return this.#run<Uint8Array>({ kind: 'hot', partition, question });
  }
  /** Answers, or says what has to be done first; `caughtUp` and `ended` say what has been done. */
  sessions(
    partition: number,
    request: {
      readonly questions: Uint8Array;
      readonly nowMs: number;
      readonly caughtUp: boolean;
      readonly ended: EndedByPlace | undefined;
    },
  ): Promise<SessionsReport> {
    const questions = Uint8Array.from(request.questions);
    return this.#run<SessionsReport>({ kind: 'sessions', partition, ...request, questions });
  }
  close(partition: number): Promise<void> {
    return this.#run<void>({ kind: 'close', partition });
  }

  /**
   * Ends the thread. The pool waits for its exit, which Node does not always report when a thread is ended as it
   * starts.
   */
  async stop(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, EXIT_WAIT_MAX_MS);
    });
    await Promise.race([this.#pool.destroy(), enough]);
    clearTimeout(timer);
  }

  /** The thread answers each kind of task with its own type; `worker.ts` is the other half of that agreement. */
  #run<Result>(task: WorkerTask, move: ArrayBuffer[] = []): Promise<Result> {
    return this.#pool.run(task, move.length === 0 ? {} : { transferList: move }) as Promise<Result>;
  }
}
