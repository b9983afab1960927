import { createInbox, type Msg, type NatsConnection } from 'nats';
import { BusError, busError } from './bus-error.ts';

/** The status code with which the server answers a request that has no subscriber. */
const NO_RESPONDERS = 503;

interface PendingRequest {
  readonly what: string;
  readonly subject: string;
  readonly deadlineMs: number;
  resolve(answer: Uint8Array): void;
  reject(error: BusError): void;
}

/**
 * Requests over the core connection, each with one answer. An answer finds its request by the number after the inbox,
 * so answers may come in any order; an answer after its request's timeout is ignored. A lost connection ends no
 * request: it is answered after all, or times out. So senders and their time limits bound the number of pending
 * requests.
 *
 * The `request` of the library makes an inbox token, a timer, four promises and, even when all is well, two errors with
 * their stacks: 25 µs. This costs one promise and one entry of a map while the request is pending.
 */
export class Requests {
  readonly #connection: NatsConnection;
  readonly #inbox: string;
  readonly #pending = new Map<string, PendingRequest>();
  #count = 0;
  /** One timer for all; it may fire for a request that has been answered since. */
  #timer: NodeJS.Timeout | undefined;
  #wakesAtMs = Number.POSITIVE_INFINITY;

  /** @param inboxPrefix the subject below which answers arrive; `_INBOX` without it */
  constructor(connection: NatsConnection, inboxPrefix?: string) {
    this.#connection = connection;
    this.#inbox = `${createInbox(inboxPrefix)}.`;
    connection.subscribe(`${this.#inbox}*`, {
      callback: (error, message) => {
        if (error === null) this.#answer(message);
      },
    });
    void connection.closed().then(() => this.#endAll()); // Never rejects.
  }

  /** Requests that wait for an answer. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Sends a request and returns its answer. `what` names the request in the text of an error. @throws {BusError} */
  send(what: string, subject: string, bytes: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    this.#count += 1;
    const token = this.#count.toString(36);
    try {
      this.#connection.publish(subject, bytes, { reply: this.#inbox + token });
    } catch (error) {
      return Promise.reject(busError(what, error));
    }
    return new Promise((resolve, reject) => {
      const deadlineMs = performance.now() + timeoutMs;
      this.#pending.set(token, { what, subject, deadlineMs, resolve, reject });
      this.#wakeAt(deadlineMs);
    });
  }

  /** Ends the requests to a subject on which the server lets this connection publish nothing. */
  forbid(subject: string): void {
    for (const [token, pending] of this.#pending)
      if (pending.subject === subject)
        this.#fail(token, pending, new BusError(`bus: ${pending.what}: not permitted`, 'other', undefined));
  }

  #answer(message: Msg): void {
    const token = message.subject.slice(this.#inbox.length);
    const pending = this.#pending.get(token);
    if (pending === undefined) return;
    const answer = message.data;
    if (answer.length === 0 && message.headers?.code === NO_RESPONDERS) {
      const text = `bus: ${pending.what}: nothing answers on the subject`;
      this.#fail(token, pending, new BusError(text, 'no-responders', undefined));
      return;
    }
    this.#pending.delete(token);
    pending.resolve(answer);
  }

  #wakeAt(deadlineMs: number): void {
    if (deadlineMs >= this.#wakesAtMs) return;
    clearTimeout(this.#timer);
    this.#wakesAtMs = deadlineMs;
    this.#timer = setTimeout(this.#expire, Math.max(1, deadlineMs - performance.now()));
  }

  readonly #expire = (): void => {
    const nowMs = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [token, pending] of this.#pending) {
      if (pending.deadlineMs > nowMs) nextMs = Math.min(nextMs, pending.deadlineMs);
      else
        this.#fail(
          token,
          pending,
          new BusError(`bus: ${pending.what}: no answer in time`, 'timeout', undefined),
        );
    }
    this.#wakesAtMs = Number.POSITIVE_INFINITY;
    if (nextMs < Number.POSITIVE_INFINITY) this.#wakeAt(nextMs);
  };

  #endAll(): void {
    clearTimeout(this.#timer);
    for (const [token, pending] of this.#pending)
      this.#fail(
        token,
        pending,
        new BusError(`bus: ${pending.what}: the connection is closed`, 'other', undefined),
      );
  }

  #fail(token: string, pending: PendingRequest, error: BusError): void {
    this.#pending.delete(token);
    pending.reject(error);
  }
}
