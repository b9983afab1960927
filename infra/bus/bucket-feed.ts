import {
  AckPolicy,
  type ConsumerConfig,
  createInbox,
  DeliverPolicy,
  type JetStreamManager,
  type Msg,
  type NatsConnection,
  nanos,
  nuid,
  ReplayPolicy,
  type Subscription,
} from 'nats';
import { BusError, busError } from './bus-error.ts';
import { firstAnswer } from './first-answer.ts';

/** Interval of the server's heartbeats while nothing changes. */
const HEARTBEAT_MS = 5_000;
/** Missed heartbeats after which a feed counts as lost. */
const MISSED_MAX = 2;
/** The status of messages by which the server steers a feed. */
const CONTROL_STATUS = 100;
const FLOW_CONTROL = 'FlowControl Request';
const OPERATION = 'KV-Operation';

/** A stored value and the revision that a compare-and-set of it must name. */
export interface KeyedValue {
  readonly key: string;
  /** Absent when the key was deleted. */
  readonly bytes: Uint8Array | undefined;
  readonly revision: number;
}

/** The bucket that a feed is of. */
export interface FeedSource {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly stream: string;
  /** The beginning of the subjects of its keys, with the dot. */
  readonly subjects: string;
  /** The subject below which messages arrive; `_INBOX` without it. */
  readonly inboxPrefix: string | undefined;
}

export interface FeedOptions {
  /** Keys, in which `*` is any text without a dot and `>` any text. */
  readonly filter: string;
  /** Every message from this revision on; undefined: the last one of each key, and then all that follow. */
  readonly from: number | undefined;
  /** Without values every present key has empty ones. */
  readonly withValues: boolean;
  /** Must not throw. */
  readonly take: (value: KeyedValue) => void;
}

/**
 * The messages of a bucket in order, from a consumer that lives as long as the feed. The server sends at most 32 MiB
 * unconfirmed by this process, a constant of the server's own. A feed that lost a message ends; `BucketWatch` opens the
 * next one after the last message received.
 *
 * The library's watch is not used: it starts at the beginning after a lost connection, and if the server answers
 * attempts late, each sends the whole bucket. Here nothing is sent before one attempt is chosen.
 */
export class BucketFeed {
  /** Resolves once everything that was stored at the beginning has arrived. Rejects when the feed ends before. */
  readonly caughtUp: Promise<void>;
  /** Resolves with the reason when the feed ends; undefined after `stop`. */
  readonly ended: Promise<Error | undefined>;
  readonly #source: FeedSource;
  readonly #take: FeedOptions['take'];
  readonly #subscription: Subscription;
  readonly #timer: NodeJS.Timeout;
  /** Number of messages at the beginning. */
  readonly #expected: number;
  #delivered = 0;
  #missed = 0;
  #isOver = false;
  #noteCaughtUp: () => void = () => {};
  #noteFailed: (error: Error) => void = () => {};
  #noteEnded: (error: Error | undefined) => void = () => {};

  private constructor(source: FeedSource, take: FeedOptions['take'], made: MadeConsumer) {
    this.#source = source;
    this.#take = take;
    this.#expected = made.pending;
    this.caughtUp = new Promise((resolve, reject) => {
      this.#noteCaughtUp = resolve;
      this.#noteFailed = reject;
    });
    this.ended = new Promise((resolve) => {
      this.#noteEnded = resolve;
    });
    // Only some callers wait for it.
    this.caughtUp.catch(() => {});
    this.#subscription = source.connection.subscribe(made.inbox, {
      callback: (error, message) => {
        if (error !== null) this.#end(busError('feed', error));
        else this.#receive(message);
      },
    });
    this.#timer = setInterval(() => this.#miss(), HEARTBEAT_MS).unref();
    if (made.pending === 0) this.#noteCaughtUp();
  }

  /** @throws {BusError} when the server gives no consumer */
  static async open(source: FeedSource, options: FeedOptions): Promise<BucketFeed> {
    try {
      // An attempt that is not chosen has no subscriber, so the server sends nothing and forgets it.
      const made = await firstAnswer(() => makeConsumer(source, options));
      return new BucketFeed(source, options.take, made);
    } catch (error) {
      throw busError('feed', error);
    }
  }

  stop(): void {
    this.#end(undefined);
  }

  #receive(message: Msg): void {
    if (this.#isOver) return;
    this.#missed = 0;
    if (message.headers !== undefined && message.headers.code !== 0) {
      this.#obey(message);
      return;
    }
    const { revision, delivered, pending } = placeOf(message.reply ?? '');
    if (delivered !== this.#delivered + 1) {
      this.#end(lost('a message was lost on the way'));
      return;
    }
    this.#delivered = delivered;
    const isPresent = message.headers === undefined || message.headers.get(OPERATION) === '';
    this.#take({
      key: message.subject.slice(this.#source.subjects.length),
      bytes: isPresent ? message.data : undefined,
      revision,
    });
    if (pending === 0 || delivered >= this.#expected) this.#noteCaughtUp();
  }

  /** Confirms received messages, so that the server sends more. */
  #obey(message: Msg): void {
    const { code, description } = message.headers ?? { code: 0, description: '' };
    if (code !== CONTROL_STATUS) {
      this.#end(lost(`the server ended it: ${code} ${description}`));
      return;
    }
    if (description === FLOW_CONTROL) {
      message.respond();
      return;
    }
    const stalled = message.headers?.get('Nats-Consumer-Stalled') ?? '';
    if (stalled !== '') this.#source.connection.publish(stalled);
    if (Number(message.headers?.get('Nats-Last-Consumer')) !== this.#delivered)
      this.#end(lost('a message was lost on the way'));
    // The server waits for changes. Expected messages may have been removed meanwhile.
    else if (stalled === '') this.#noteCaughtUp();
  }

  /** Counts calls instead of time: a paused process has not read its socket yet. */
  #miss(): void {
    this.#missed += 1;
    if (this.#missed > MISSED_MAX)
      this.#end(new BusError('bus: feed: the server is silent', 'timeout', undefined));
  }

  #end(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#subscription.unsubscribe();
    this.#noteFailed(error ?? new BusError('bus: feed: stopped', 'other', undefined));
    this.#noteEnded(error);
  }
}

interface MadeConsumer {
  readonly inbox: string;
  /** Number of messages that it is going to send. */
  readonly pending: number;
}

async function makeConsumer(
  { manager, stream, subjects, inboxPrefix }: FeedSource,
  { filter, from, withValues }: FeedOptions,
): Promise<MadeConsumer> {
  const inbox = createInbox(inboxPrefix);
  const start: Partial<ConsumerConfig> =
    from === undefined
      ? { deliver_policy: DeliverPolicy.LastPerSubject }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from };
  // The rights of the bus's users name a consumer with one filter.
  const { num_pending: pending } = await manager.consumers.add(stream, {
    ...start,
    name: nuid.next(),
    deliver_subject: inbox,
    filter_subject: subjects + filter,
    ack_policy: AckPolicy.None,
    replay_policy: ReplayPolicy.Instant,
    flow_control: true,
    idle_heartbeat: nanos(HEARTBEAT_MS),
    headers_only: !withValues,
    max_deliver: 1,
    mem_storage: true,
    num_replicas: 1,
  });
  return { inbox, pending };
}

/** JetStream names the message in the reply subject: `….<revision>.<number in the feed>.<time>.<still to come>`. */
function placeOf(reply: string): {
  readonly revision: number;
  readonly delivered: number;
  readonly pending: number;
} {
  const tokens = reply.split('.');
  // Servers with a domain have names before these numbers, and a token after them.
  const first = tokens.length > 9 ? 7 : 5;
  const [revision = 0, delivered = 0, , pending = 0] = tokens.slice(first, first + 4).map(Number);
  return { revision, delivered, pending };
}

function lost(why: string): BusError {
  return new BusError(`bus: feed: ${why}`, 'other', undefined);
}
