import type { WindowLimit } from '../../infra/accounts/window-limit.ts';
import { errorText, type HeaderList, type Reply } from '../../infra/http/http.ts';
import type { Counter } from '../../infra/metrics.ts';
import { limitedAddress } from '../../infra/network/client-address.ts';
import type { TrackAnswer } from '../collect/recent-answers.ts';
import type { FoundSession } from '../collect/sessions.ts';
import type { IdentityOutcome, TrackOutcome } from '../collect/track-outcome.ts';
import type { Bot } from '../enrich/bot.ts';
import type { Reject, RejectReason } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';

/** What every answer of the collection endpoints needs. */
export interface TrackResponderDeps {
  readonly headers: HeaderList;
  /** Of requests by address. */
  readonly limit: WindowLimit;
  readonly rejects: Readonly<Record<RejectReason, Counter>>;
  readonly excluded: Readonly<Record<ExcludedBy, Counter>>;
}

/** Why a body is understood and not recorded. Each is a counter. */
export const EXCLUDED_BY = ['bot', 'filter'] as const;
export type ExcludedBy = (typeof EXCLUDED_BY)[number];

/** A body of a batch that was not recorded, by its place. */
export interface RejectedBody {
  readonly index: number;
  readonly status: number;
  readonly message: string;
}

const RETRY_SOON: HeaderList = [['retry-after', '1']];

/** The answer to one collection request. Refusals are counted by reason. */
export class TrackResponder implements TrackOutcome, IdentityOutcome {
  readonly #parts: TrackResponderDeps;
  readonly #reply: Reply;
  #headers: HeaderList;

  constructor(parts: TrackResponderDeps, reply: Reply) {
    this.#parts = parts;
    this.#reply = reply;
    this.#headers = parts.headers;
  }

  /** Counts the request against its address's limit; true when it has been answered with 429. */
  isLimited(facts: RequestFacts, nowMs: number): boolean {
    const { limit } = this.#parts;
    if (!limit.enabled) return false;
    const state = limit.take(limitedAddress(facts.claims), nowMs);
    this.#headers = [...this.#headers, ...state.headers];
    if (!state.exceeded) return false;
    this.rejected({ reason: 'limited', status: 429, message: 'too many requests from this address' });
    return true;
  }

  stored({ deviceId, sessionId }: TrackAnswer): void {
    const device = JSON.stringify(deviceId); // It may be one that the caller named.
    this.#reply.json(200, `{"deviceId":${device},"sessionId":"${sessionId}"}`, this.#headers);
  }

  excluded(bot: Bot | undefined): void {
    this.#parts.excluded[bot === undefined ? 'filter' : 'bot'].add();
    this.#reply.json(202, excludedText(bot), this.#headers);
  }

  /** What became of each body of a batch. */
  counted(accepted: number, rejected: readonly RejectedBody[]): void {
    this.#reply.json(200, JSON.stringify({ accepted, rejected }), this.#headers);
  }

  identified({ kind, deviceId, sessionId }: FoundSession, earlier: boolean): void {
    const current = earlier ? 'previous-day session' : 'current session';
    const message = kind === 'known' || kind === 'open' ? current : 'new session';
    this.#reply.json(200, JSON.stringify({ deviceId, sessionId, message }), this.#headers);
  }

  rejected(rejection: Reject): void {
    const { reason, status, message } = rejection;
    this.#parts.rejects[reason].add();
    this.#reply.json(status, errorText(status, message), this.#headersOf(rejection));
  }

  #headersOf({ status, headers }: Reject): HeaderList {
    // A rejection's own limit stands in the place of that of the address.
    if (headers !== undefined) return [...this.#parts.headers, ...headers];
    return status === 503 ? [...this.#headers, ...RETRY_SOON] : this.#headers;
  }
}

function excludedText(bot: Bot | undefined): string {
  if (bot === undefined) return '{"filtered":true}';
  return JSON.stringify({ bot: { name: bot.name, type: bot.type } });
}
