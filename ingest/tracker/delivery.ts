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

/** What the service says of the visitor. */
export interface VisitorIds {
  readonly deviceId?: string;
  readonly sessionId?: string;
}

/** Where calls go, and when. */
export interface DeliveryOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What is said of its sender in a call that does not say it itself; false while calls are kept back. */
  readonly sender: () => object | false;
  /** Told of each call that was taken, refused or given up, and what the service answered. */
  readonly onCompleted: (eventId: string, answer: VisitorIds | false | undefined) => void;
}

export interface Delivery {
  /** Takes a call that nobody changes any more. */
  send(call: TrackCall): void;
  /** Goes on with what was held back or waits for the network. */
  resume(): void;
  /** Sends all that is left at once, since the page may not come back. */
  leave(): void;
}

/** A call on its way. */
interface QueuedCall {
  readonly type: string;
  readonly payload: Payload;
  /** When it was made, for an event that leaves it to the service to say so. */
  takenAtMs: number | false;
  isSending?: boolean;
  tries: number;
}

/** How long to wait before the next try: never less than the server asks for, up to a limit. */
export function retryDelayMs(tries: number, retryAfterS: number, random: number): number {
  return Math.min(retryAfterS * 1000 || 500 * 2 ** tries, RETRY_MAX_MS) * (1 + random / 2);
}

/**
 * Under one id a call counts once, however often it is sent. `randomUUID` is missing on plain http pages; and every byte
 * is stored with the event, so there is nothing in it but chance: 52 bits, for the calls of a site in a day.
 */
export function newEventId(): string {
  return Math.random().toString(36).slice(2);
}

/**
 * Sends calls one after the other, so that they arrive in the order in which they were made, and again until they are
 * taken or refused. Only when the page is left, all that is there goes out side by side.
 */
export function createDelivery({ url, headers, sender, onCompleted }: DeliveryOptions): Delivery {
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
    // The service knows best what time it is, unless the event had to wait. Then ours counts, but it is always behind
    // that of the event before, which may have got its time on its arrival: their order must not turn round.
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
        headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': payload.eventId },
        credentials: 'omit',
        keepalive: body.length < KEEPALIVE_MAX,
      });
      if (response.status !== 429 && response.status < 500) {
        if (queued.takenAtMs) lastAtMs = Date.now();
        const answer = response.ok && (await response.json().catch(() => false));
        return complete(queued, answer as VisitorIds | false);
      }
      retryAfterS = Number(response.headers.get('retry-after'));
    } catch {
      // The network is away.
    }
    queued.isSending = false;
    // Offline is nobody's fault, and its end is told.
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
    leave: () => {
      if (sender()) for (const queued of queue) if (!queued.isSending) void transmit(queued);
    },
  };
}
