import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import type { NamedSession } from '../fold/ended-sessions.ts';
import type { LiveQuestion } from '../fold/hot-answers.ts';
import type { RestoredPart, StoredMinute, StoredSeen } from '../fold/restore.ts';
import type { HotQuestion, LivePart } from '../hot.ts';
import type { OpenReport } from './open-sessions-feed.ts';
import type {
  CutReport,
  FoldReport,
  MissingReport,
  OpenTask,
  PackedMessages,
  SessionsReport,
  SessionsTask,
  SiteRowsReport,
  WorkerTask,
} from './worker-tasks.ts';

/** The questions of a `sessions` task, and the state in which they are asked. */
export type SessionsRequest = Omit<SessionsTask, 'kind' | 'slice'>;

/** A thread that was asked to end is over by then, whether its exit was reported or not. */
const EXIT_WAIT_MAX_MS = 3_000;

/** Runs the tasks of one thread, one after the other: a `Piscina` of one, or a simulated thread. */
export interface TaskThread {
  run(task: WorkerTask, options: { readonly transferList?: ArrayBuffer[] }): Promise<unknown>;
  destroy(): Promise<void>;
}

function startThread(filename: string): TaskThread {
  return new Piscina<WorkerTask, unknown>({
    filename,
    minThreads: 1,
    maxThreads: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
    // On one core a thread that spins for its next task takes time from the one that would send it.
    atomics: availableParallelism() > 1 ? 'sync' : 'disabled',
  });
}

/**
 * The main thread's side of one worker thread: a pool of exactly one, because the state of a slice lives in the thread
 * that opened it, and a larger pool would give the next task to any of its threads. Tasks are done in the order in which
 * they are given.
 */
export class WorkerHandle {
  readonly #thread: TaskThread;

  constructor(filename: string, start: (filename: string) => TaskThread = startThread) {
    this.#thread = start(filename);
  }

  open(task: Omit<OpenTask, 'kind'>): Promise<void> {
    return this.#run<void>({ kind: 'open', ...task });
  }
  /** Passes rows of the store on. The bytes, which have a buffer of their own, move to the thread. */
  restore(slice: number, part: RestoredPart, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#run<void>({ kind: 'restore', slice, part, bytes }, [bytes.buffer]);
  }
  restoreMinutes(slice: number, minutes: readonly StoredMinute[]): Promise<void> {
    return this.#run<void>({ kind: 'restore-minutes', slice, minutes });
  }
  restoreSeen(slice: number, seen: readonly StoredSeen[]): Promise<void> {
    return this.#run<void>({ kind: 'restore-seen', slice, seen });
  }

  /** Returns the sessions that have to be loaded before the first of these messages can be folded. */
  missing(slice: number, packed: PackedMessages): Promise<MissingReport> {
    return this.#run<MissingReport>({ kind: 'missing', slice, ...packed });
  }

  /** Passes the stored states of missing sessions. */
  ended(slice: number, named: readonly NamedSession[], rows: Uint8Array): Promise<void> {
    return this.#run<void>({ kind: 'ended', slice, named, rows: Uint8Array.from(rows) });
  }

  /** Folds messages in their order, up to an erase command. Their bytes move to the thread, unless they are shared. */
  fold(slice: number, packed: PackedMessages, keepsEnded: boolean): Promise<FoldReport> {
    const { buffer } = packed.bytes;
    const move = buffer instanceof ArrayBuffer ? [buffer] : [];
    return this.#run<FoldReport>({ kind: 'fold', slice, keepsEnded, ...packed }, move);
  }

  /** Ends the slice's part of a flush. */
  cut(slice: number, hasRows: boolean): Promise<CutReport> {
    return this.#run<CutReport>({ kind: 'cut', slice, hasRows });
  }
  flushed(slice: number): Promise<void> {
    return this.#run<void>({ kind: 'flushed', slice });
  }
  /** The rows of the flush that was cut last. */
  rowsBySite(slice: number): Promise<SiteRowsReport> {
    return this.#run<SiteRowsReport>({ kind: 'rows-by-site', slice });
  }
  hot(slice: number, question: HotQuestion): Promise<Uint8Array> {
    return this.#run<Uint8Array>({ kind: 'hot', slice, question });
  }
  /** Answers, or says which work has to be done first; `lag` and `ended` describe the work already done. */
  sessions(slice: number, request: SessionsRequest): Promise<SessionsReport> {
    const questions = Uint8Array.from(request.questions);
    return this.#run<SessionsReport>({ kind: 'sessions', slice, ...request, questions });
  }
  live(slice: number, question: LiveQuestion): Promise<readonly (LivePart | undefined)[]> {
    return this.#run<readonly (LivePart | undefined)[]>({ kind: 'live', slice, ...question });
  }
  /** Changes in the open sessions since the last call; without a time, all of them. */
  openSessions(slice: number, nowMs: number | undefined): Promise<OpenReport> {
    return this.#run<OpenReport>({ kind: 'open-sessions', slice, nowMs });
  }
  close(slice: number): Promise<void> {
    return this.#run<void>({ kind: 'close', slice });
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
    await Promise.race([this.#thread.destroy(), enough]);
    clearTimeout(timer);
  }

  /** The thread answers each kind of task with its own type; `slice-tasks.ts` is the other half of that agreement. */
  #run<Result>(task: WorkerTask, move: ArrayBuffer[] = []): Promise<Result> {
    return this.#thread.run(task, move.length === 0 ? {} : { transferList: move }) as Promise<Result>;
  }
}
