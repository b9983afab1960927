import { unreachable } from '../../infra/assert.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import { type Allowance, limitHeaders } from '../../infra/http/limit-headers.ts';
import type { Reply } from '../../infra/http/open-reply.ts';
import { errorText } from '../../infra/http/status.ts';
import type { Counter } from '../../infra/metrics.ts';
import { limitedNetwork, provenAddress } from '../../infra/network/client-address.ts';
import type { TrackAnswer } from '../collect/recent-answers.ts';
import type { FoundSession } from '../collect/sessions.ts';
import type { ExcludedBy, Exclusion, IdentityOutcome, TrackOutcome } from '../collect/track-outcome.ts';
import type { AddressLimiter } from '../identity/address-limiter.ts';
import type { Reject, RejectReason } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';

/** Dependencies of every answer of the collection endpoints. */
export interface TrackResponderDeps {
  readonly headers: HeaderList;
  /** Limits the requests of each address. */
  readonly limiter: AddressLimiter;
  readonly rejects: Readonly<Record<RejectReason, Counter>>;
  readonly excluded: Readonly<Record<ExcludedBy, Counter>>;
}

/** A body of a batch that was not recorded, by its index in the batch. */
export interface RejectedBody {
  readonly index: number;
  readonly status: number;
  readonly message: string;
}

const RETRY_SOON: HeaderList = [['retry-after', '1']];

/** The answer to one collection request. Counts rejects by reason. */
export class TrackResponder implements TrackOutcome, IdentityOutcome {
  readonly #deps: TrackResponderDeps;
  readonly #reply: Reply;
  #headers: HeaderList;
  /** True if the sender was at fault. */
  hasRejected = false;

  constructor(deps: TrackResponderDeps, reply: Reply) {
    this.#deps = deps;
    this.#reply = reply;
    this.#headers = deps.headers;
  }

  /** Counts the request against the limit of its address. True: it is over the limit and was answered with 429. */
  isLimited(facts: RequestFacts, nowMs: number): boolean {
    const { limiter } = this.#deps;
    if (!limiter.isOn) return false;
    const allowance = limiter.take(limitedNetwork(provenAddress(facts.claims)), nowMs);
    if (allowance === undefined) return false;
    this.#headers = [...this.#headers, ...limitHeaders(allowance)];
    if (allowance.allowed) return false;
    this.rejected({
      reason: 'limited',
      status: 429,
      message: 'too many requests from this address; retry after the time in Retry-After',
    });
    return true;
  }

  stored({ deviceId, sessionId }: TrackAnswer): void {
    const device = JSON.stringify(deviceId); // The caller may have named it, so it can hold any characters.
    this.#reply.json(200, `{"deviceId":${device},"sessionId":"${sessionId}"}`, this.#headers);
  }

  noteRate(allowance: Allowance): void {
    // The tighter limit of the two: the address's was not exceeded.
    this.#headers = [...this.#deps.headers, ...limitHeaders(allowance)];
  }

  excluded(exclusion: Exclusion): void {
    this.#deps.excluded[exclusion.kind].add();
    this.#reply.json(202, excludedText(exclusion), this.#headers);
  }

  /** Answers a batch: the number of recorded bodies, and the reasons for the others. */
  counted(accepted: number, rejected: readonly RejectedBody[]): void {
    this.#reply.json(200, JSON.stringify({ accepted, rejected }), this.#headers);
  }

  identified({ kind, deviceId, sessionId }: FoundSession, earlier: boolean): void {
    const current = earlier ? 'previous-day session' : 'current session';
    const message = kind === 'known' || kind === 'open' ? current : 'new session';
    // A cache would give one visitor's device to another.
    const headers: HeaderList = [...this.#headers, ['cache-control', 'no-store']];
    this.#reply.json(200, JSON.stringify({ deviceId, sessionId, message }), headers);
  }

  rejected(reject: Reject): void {
    const { reason, status, message } = reject;
    this.#deps.rejects[reason].add();
    this.hasRejected = status < 500 && status !== 429;
    this.#reply.json(status, errorText(status, message), this.#headersOf(reject));
  }

  #headersOf({ status, headers }: Reject): HeaderList {
    // A reject that has its own limit shows it instead of the limit of the address.
    if (headers !== undefined) return [...this.#deps.headers, ...headers];
    return status === 503 ? [...this.#headers, ...RETRY_SOON] : this.#headers;
  }
}

/** The body of a 202. */
function excludedText(exclusion: Exclusion): string {
  if (exclusion.kind === 'filter') return '{"filtered":true}';
  if (exclusion.kind !== 'bot') return JSON.stringify({ filtered: true, reason: exclusionReason(exclusion) });
  return JSON.stringify({ bot: { name: exclusion.bot.name, type: exclusion.bot.type } });
}

/** The reason why a body is not recorded, in one line. */
export function exclusionReason(exclusion: Exclusion): string {
  switch (exclusion.kind) {
    case 'bot':
      return `bot: ${exclusion.bot.name}`;
    case 'filter':
      return 'filtered';
    case 'spam':
      return `referrer spam: ${exclusion.domain}`;
    case 'replay':
      return 'replay: sessions are not recorded';
    case 'device':
      return `${exclusion.what}: it exists and does not belong to the device of this request; send a client secret, or set allowUnsafeIdentify on the site`;
    default:
      return unreachable(exclusion);
  }
}
