import type { Browser } from './browser.ts';
import { KEEPALIVE_MAX, QUEUE_MAX, RETRY_MAX_MS, TIMESTAMP_AFTER_MS, TRIES_MAX } from './limits.ts';

declare const navigator: Browser['navigator'];

/** One body of `POST /track`. */
export interface TrackCall {
  readonly type: string;
  readonly payload: Payload;
}

interface Payload {
  readonly eventId: string;
  readonly profileId?: unknown;
  properties?: object;
}

/** The service's ids of the visitor. */
export interface VisitorIds {
  readonly deviceId?: string;
  readonly sessionId?: string;
}

export interface Delivery {
  /** Takes a call. Nothing may change it afterwards. */
  send(call: TrackCall): void;
  /** Continues after calls had to wait, or after the network was unavailable. */
  resume(): void;
  /** Sends all waiting calls immediately, because the page may not come back. */
  leave(): unknown;
}

/** A call in the queue. */
interface QueuedCall {
  readonly type: string;
  readonly payload: Payload;
  /** Time of the call; false for an event that already has a timestamp, and for calls that are not events. */
  takenAtMs: number | false;
  isSending?: boolean;
  tries: number;
}

/** The delay before the next try: at least the server's Retry-After, up to a limit. */
export function retryDelayMs(tries: number, retryAfterS: number, random: number): number {
  return Math.min(retryAfterS * 1000 || 500 * 2 ** tries, RETRY_MAX_MS) * (1 + random / 2);
}

/**
 * A call with the same id counts once, however often it is sent. `randomUUID` is missing on plain http pages, and every
 * byte is stored with the event, so the id is random and short: 52 bits, for a site's calls of one day.
 */
export function newEventId(): string {
  return Math.random().toString(36).slice(2);
}

/**
 * Sends calls one after the other, so that they arrive in order, and repeats each until it is accepted or rejected.
 * Only when the page is left are all waiting calls sent in parallel.
 *
 * @param sender the profile to add to calls without one; false while calls must wait
 * @param onCompleted called for each call that was accepted, rejected or given up, with the service's answer
 */
export function createDelivery(
  url: string,
  headers: Readonly<Record<string, string>>,
  sender: () => object | false,
  onCompleted: (eventId: string, answer: VisitorIds | false | undefined) => void,
): Delivery {
  let queue: readonly QueuedCall[] = [];
  let lastAtMs = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const next = () => {
    if (queue[0] && !timer && sender() && !queue.some((queued) => queued.isSending)) void transmit(queue[0]);
  };

  const resume = () => {
    timer = undefined;
    next();
  };

  const complete = (queued: QueuedCall, answer?: VisitorIds | false) => {
    queue = queue.filter((other) => other !== queued);
    onCompleted(queued.payload.eventId, answer);
    next();
  };

  const transmit = async (queued: QueuedCall) => {
    const { type, payload, takenAtMs } = queued;
    // The service stamps events on arrival. An event that had to wait carries its own time, later
    // than the previous event's: the service may have stamped the previous one, and their order must not change.
    if (takenAtMs && Date.now() - takenAtMs > TIMESTAMP_AFTER_MS) {
      lastAtMs = Math.max(takenAtMs, lastAtMs + 1);
      payload.properties = { __timestamp: lastAtMs, ...payload.properties };
      queued.takenAtMs = false;
    }
    queued.isSending = true;
    let retryAfterS = 0;
    try {
      const body = JSON.stringify({ type, payload: { ...payload, ...(!payload.profileId && sender()) } });
      const response = await fetch(url, {
        method: 'POST',
        body,
        headers: { ...headers, 'content-type': 'application/json' },
        credentials: 'omit',
        keepalive: body.length < KEEPALIVE_MAX,
      });
      if (response.status !== 429 && response.status < 500) {
        if (queued.takenAtMs) lastAtMs = Date.now();
        const answer = response.ok && (await response.json().catch(() => {}));
        return complete(queued, answer as VisitorIds | false);
      }
      retryAfterS = +(response.headers.get('retry-after') as string);
    } catch {
      // The network is unavailable.
    }
    queued.isSending = false;
    // Being offline does not count as a try; the `online` event resumes.
    if (!navigator.onLine) return;
    queued.tries += 1;
    timer = timer || setTimeout(resume, retryDelayMs(queued.tries, retryAfterS, Math.random()));
    if (queued.tries > TRIES_MAX) complete(queued);
  };

  return {
    resume,
    send: (call) => {
      const takenAtMs = call.type === 'track' && Date.now();
      queue = [...queue, { ...call, takenAtMs, tries: 0 }].slice(-QUEUE_MAX);
      next();
    },
    leave: () => sender() && queue.map((queued) => queued.isSending || transmit(queued)),
  };
}
