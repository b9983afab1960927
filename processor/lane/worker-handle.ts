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
export type SessionsRequest = Omit<SessionsTask, 'kind' | 'shard'>;

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
 * The main thread's side of one worker thread: a pool of exactly one, because the state of a shard lives in the thread
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
  restore(shard: number, part: RestoredPart, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#run<void>({ kind: 'restore', shard, part, bytes }, [bytes.buffer]);
  }
  restoreMinutes(shard: number, minutes: readonly StoredMinute[]): Promise<void> {
    return this.#run<void>({ kind: 'restore-minutes', shard, minutes });
  }
  restoreSeen(shard: number, seen: readonly StoredSeen[]): Promise<void> {
    return this.#run<void>({ kind: 'restore-seen', shard, seen });
  }

  /** Returns the sessions that have to be loaded before the first of these messages can be folded. */
  missing(shard: number, packed: PackedMessages): Promise<MissingReport> {
    return this.#run<MissingReport>({ kind: 'missing', shard, ...packed });
  }

  /** Passes the stored states of missing sessions. */
  ended(shard: number, named: readonly NamedSession[], rows: Uint8Array): Promise<void> {
    return this.#run<void>({ kind: 'ended', shard, named, rows: Uint8Array.from(rows) });
  }

  /** Folds messages in their order, up to an erase command. Their bytes move to the thread, unless they are shared. */
  fold(shard: number, packed: PackedMessages, keepsEnded: boolean): Promise<FoldReport> {
    const { buffer } = packed.bytes;
    const move = buffer instanceof ArrayBuffer ? [buffer] : [];
    return this.#run<FoldReport>({ kind: 'fold', shard, keepsEnded, ...packed }, move);
  }

  /** Ends the shard's part of a flush. */
  cut(shard: number, hasRows: boolean): Promise<CutReport> {
    return this.#run<CutReport>({ kind: 'cut', shard, hasRows });
  }
  flushed(shard: number): Promise<void> {
    return this.#run<void>({ kind: 'flushed', shard });
  }
  /** The rows of the flush that was cut last. */
  rowsBySite(shard: number): Promise<SiteRowsReport> {
    return this.#run<SiteRowsReport>({ kind: 'rows-by-site', shard });
  }
  hot(shard: number, question: HotQuestion): Promise<Uint8Array> {
    return this.#run<Uint8Array>({ kind: 'hot', shard, question });
  }
  /** Answers, or says which work has to be done first; `lag` and `ended` describe the work already done. */
  sessions(shard: number, request: SessionsRequest): Promise<SessionsReport> {
    const questions = Uint8Array.from(request.questions);
    return this.#run<SessionsReport>({ kind: 'sessions', shard, ...request, questions });
  }
  live(shard: number, question: LiveQuestion): Promise<readonly (LivePart | undefined)[]> {
    return this.#run<readonly (LivePart | undefined)[]>({ kind: 'live', shard, ...question });
  }
  /** Changes in the open sessions since the last call; without a time, all of them. */
  openSessions(shard: number, nowMs: number | undefined): Promise<OpenReport> {
    return this.#run<OpenReport>({ kind: 'open-sessions', shard, nowMs });
  }
  close(shard: number): Promise<void> {
    return this.#run<void>({ kind: 'close', shard });
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

  /** The thread answers each kind of task with its own type; `shard-tasks.ts` is the other half of that agreement. */
  #run<Result>(task: WorkerTask, move: ArrayBuffer[] = []): Promise<Result> {
    return this.#thread.run(task, move.length === 0 ? {} : { transferList: move }) as Promise<Result>;
  }
}
