import type { ListedOperation } from '../operations.ts';
import type { HostileDraft } from './drafts.ts';

/** Possible failures of a request; the worst first. */
export type Wrong = 'process ended' | 'lane stopped' | 'no answer' | 'cpu' | 'turn' | 'memory' | 'answer';

/** One request as it was measured. */
export interface MeasuredRequest {
  readonly cpuMs: number;
  readonly growthMb: number;
  /** The longest turn of the event loop, for a batch. */
  readonly turnMs: number;
  /** 0 without an answer. */
  readonly status: number;
  readonly answerText: string;
  /** Failures apart from cost; empty if there are none. */
  readonly detail: string;
  /** True if the process still runs. */
  readonly isUp: boolean;
}

/** Maximum cost of one request for the answering process. */
const COST_MAX = { cpuMs: 50, growthMb: 20 } as const;
/** A batch may cost this much for each of its items, if that is more. */
const ITEM_CPU_MAX_MS = 1;
/** Reading and storing a body of megabytes, or making an answer of them, costs this for each, whatever is in it. */
const BODY_CPU_MAX_MS_PER_MB = 25;
/** A turn of the event loop that reads a part of a batch. */
const TURN_CPU_MAX_MS = 100;
/** A body may be held several times over: as bytes, as text, and parsed. */
const BODY_COPIES_MAX = 10;

/**
 * A passphrase is hashed slowly and with much memory on purpose; `infra/accounts/verify-queue.ts` bounds how often.
 */
const HASHING: ReadonlySet<string> = new Set([
  '/sign-in',
  '/shared/{token}/open',
  '/manage/shares',
  '/manage/shares/{shareId}',
  '/manage/users',
  '/manage/users/{userId}',
]);
const HASHING_MAX = { cpuMs: 250, growthMb: 60 } as const;

type Sizes = Pick<HostileDraft, 'items' | 'bytes'> & { readonly operation: Pick<ListedOperation, 'path'> };

/** All that is wrong with a request, the worst first. */
export function wrongs(
  { cpuMs, growthMb, turnMs, status, answerText, detail, isUp }: MeasuredRequest,
  draft: Sizes,
): Wrong[] {
  const found: Wrong[] = [];
  if (!isUp) found.push('process ended');
  if (isUp && status === 0) found.push('no answer');
  const ofAnswer = (answerText.length / 1_000_000) * BODY_CPU_MAX_MS_PER_MB;
  if (cpuMs > cpuMaxMs(draft) + ofAnswer) found.push('cpu');
  if (turnMs > TURN_CPU_MAX_MS) found.push('turn');
  if (growthMb > costMaxOf(draft).growthMb + bodyMbOf(draft) * BODY_COPIES_MAX) found.push('memory');
  if (isUp && status !== 0 && detail !== '') found.push('answer');
  return found;
}

/** True if a repeat fails in the same way. A request that takes too long may get its answer too late, or none. */
export function showsAgain(wrong: Wrong, again: readonly Wrong[]): boolean {
  return again.includes(wrong) || (TOO_LONG.has(wrong) && again.some((other) => TOO_LONG.has(other)));
}

const TOO_LONG: ReadonlySet<Wrong> = new Set(['process ended', 'no answer', 'cpu']);

/** CPU time that a request may take, by its size. */
export function cpuMaxMs(draft: Sizes): number {
  const ofBody = bodyMbOf(draft) * BODY_CPU_MAX_MS_PER_MB;
  return Math.max(costMaxOf(draft).cpuMs, draft.items * ITEM_CPU_MAX_MS, ofBody);
}

function costMaxOf({ operation }: Sizes): { readonly cpuMs: number; readonly growthMb: number } {
  return HASHING.has(operation.path) ? HASHING_MAX : COST_MAX;
}

function bodyMbOf({ bytes }: Sizes): number {
  return (bytes?.length ?? 0) / 1_000_000;
}
