import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { build as buildHistogram, type Histogram } from 'hdr-histogram-js';
import type { Credential } from '../../cluster/client.ts';

/** Connections that watch the live number of one site. */
export interface ViewersPlan {
  /** Base URL of the service. */
  readonly url: string;
  readonly site: string;
  readonly viewers: number;
  /** A client that may see the site. */
  readonly credential: Credential;
}

/**
 * Visitors who come one by one, each with the first event of theirs at a fixed time: the number that the site had before, then
 * one more every `everyMs`.
 */
export interface Arrivals {
  readonly before: number;
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly everyMs: number;
}

/** Figures of the connections since a stretch began. */
export interface ViewersFigures {
  readonly messages: number;
  readonly open: number;
  /** From the intended start of a visitor's first event until the number with it has come, over all visitors and connections. */
  readonly arrivals: Percentiles;
  /** From when a number was true until it has come. */
  readonly deliveries: Percentiles;
}

export interface Percentiles {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Orders to the program, a line each; it answers each with its figures. */
export type ViewersOrder =
  | { readonly kind: 'begin'; readonly arrivals: Arrivals | null }
  | { readonly kind: 'figures' };

const OPENING_AT_A_TIME = 100;
const TEXT = 1;
const PING = 9;
const MASKED_PONG = 0x8a;
const CHUNK_BYTES = 65_536;
const LATENCY_MAX_MS = 60_000;
const NUMBER = /^\{"visitors":(\d+),"at":"([^"]+)"\}$/;

/**
 * The program behind `bench/main.ts viewers PLAN`: opens the connections, prints `open`, and then runs its orders line by line
 * until its input ends. It reads frames by hand, and a message that ten thousand connections get is understood once,
 * because both share the processor with the service.
 */
export async function runViewers(planPath: string): Promise<void> {
  const viewers = new Viewers(JSON.parse(readFileSync(planPath, 'utf8')) as ViewersPlan);
  await viewers.open();
  process.stdout.write('open\n');
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line) as ViewersOrder;
    if (order.kind === 'begin') viewers.begin(order.arrivals);
    process.stdout.write(`${JSON.stringify(viewers.figures())}\n`);
  }
  viewers.close();
}

/** A received message and its number. */
interface LastMessage {
  readonly frame: Buffer;
  readonly visitors: number;
  /** When the number was true, in milliseconds since 1970. */
  readonly trueMs: number;
}

class Viewers {
  readonly #plan: ViewersPlan;
  /** The bytes just read: one buffer for all connections, since each read is processed before the next. */
  readonly #chunk = Buffer.alloc(CHUNK_BYTES);
  #last: LastMessage = { frame: Buffer.alloc(0), visitors: 0, trueMs: 0 };
  readonly #sockets = new Set<Socket>();
  #arrivals: Arrivals | null = null;
  #messages = 0;
  #sinceArrival = histogram();
  #sinceTrue = histogram();

  constructor(plan: ViewersPlan) {
    this.#plan = plan;
  }

  /** Resolves when every connection has a number. */
  async open(): Promise<void> {
    for (let opened = 0; opened < this.#plan.viewers; opened += OPENING_AT_A_TIME) {
      const count = Math.min(OPENING_AT_A_TIME, this.#plan.viewers - opened);
      await Promise.all(Array.from({ length: count }, () => this.#open()));
    }
  }

  /** Forgets what was received so far. */
  begin(arrivals: Arrivals | null): void {
    this.#arrivals = arrivals;
    this.#sinceArrival = histogram();
    this.#sinceTrue = histogram();
    this.#messages = 0;
  }

  figures(): ViewersFigures {
    return {
      messages: this.#messages,
      open: this.#sockets.size,
      arrivals: percentilesOf(this.#sinceArrival),
      deliveries: percentilesOf(this.#sinceTrue),
    };
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(): Promise<void> {
    const { url, site, credential } = this.#plan;
    const { hostname, port, host } = new URL(url);
    return new Promise((resolve, reject) => {
      let waiting: Buffer = Buffer.alloc(0);
      let isUpgraded = false;
      let seen: number | undefined;
      const understand = (count: number) => {
        // Nearly always: one whole message, and the same as the connection before has got.
        if (isUpgraded && waiting.length === 0 && this.#isLast(count)) {
          seen = this.#received(seen);
          return resolve();
        }
        waiting = Buffer.concat([waiting, this.#chunk.subarray(0, count)]);
        if (!isUpgraded) {
          const end = waiting.indexOf('\r\n\r\n');
          if (end < 0) return;
          const status = waiting.toString('latin1', 9, 12);
          if (status !== '101') return void socket.destroy(new Error(`no upgrade: ${status}`));
          isUpgraded = true;
          this.#sockets.add(socket);
          waiting = waiting.subarray(end + 4);
        }
        // The service's frames are shorter than 126 bytes, and have no mask.
        while (waiting.length >= 2 && waiting.length >= 2 + (waiting[1] ?? 0)) {
          const kind = (waiting[0] ?? 0) & 0x0f;
          const frame = waiting.subarray(0, 2 + (waiting[1] ?? 0));
          waiting = waiting.subarray(frame.length);
          const body = frame.subarray(2);
          // The mask is empty.
          if (kind === PING)
            socket.write(Buffer.concat([Buffer.of(MASKED_PONG, 0x80 | body.length, 0, 0, 0, 0), body]));
          if (kind !== TEXT) continue;
          this.#last = { frame, ...numberOf(body.toString('latin1')) };
          seen = this.#received(seen);
          resolve();
        }
      };
      const socket = connect({
        host: hostname,
        port: Number(port),
        noDelay: true,
        onread: {
          buffer: this.#chunk,
          callback: (count) => {
            understand(count);
            return true;
          },
        },
      });
      socket.once('error', reject);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        reject(new Error('the connection was closed'));
      });
      const head = [
        `GET /live/${site} HTTP/1.1`,
        `host: ${host}`,
        'connection: Upgrade',
        'upgrade: websocket',
        'sec-websocket-version: 13',
        `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
        `service-client-id: ${credential.id}`,
        `service-client-secret: ${credential.secret}`,
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
    });
  }

  /** True if the first `count` bytes of this read equal the last frame. */
  #isLast(count: number): boolean {
    const { frame } = this.#last;
    return count === frame.length && this.#chunk.compare(frame, 0, count, 0, count) === 0;
  }

  /** Counts the last message, to a connection that has seen a number; returns the number that it has seen now. */
  #received(seen: number | undefined): number {
    const { visitors, trueMs } = this.#last;
    const nowMs = performance.timeOrigin + performance.now();
    this.#messages += 1;
    record(this.#sinceTrue, nowMs - trueMs);
    const arrivals = this.#arrivals;
    if (arrivals === null || seen === undefined) return visitors;
    for (let visitor = Math.max(seen, arrivals.before) + 1; visitor <= visitors; visitor += 1)
      record(
        this.#sinceArrival,
        nowMs - (arrivals.startMs + (visitor - arrivals.before - 1) * arrivals.everyMs),
      );
    return Math.max(seen, visitors);
  }
}

function numberOf(text: string): Pick<LastMessage, 'visitors' | 'trueMs'> {
  const [, number = '', at = ''] = NUMBER.exec(text) ?? [];
  return { visitors: Number(number), trueMs: Date.parse(at) };
}

function histogram(): Histogram {
  return buildHistogram({ lowestDiscernibleValue: 1, highestTrackableValue: LATENCY_MAX_MS });
}

function record(into: Histogram, tookMs: number): void {
  into.recordValue(Math.min(LATENCY_MAX_MS, Math.max(1, Math.round(tookMs))));
}

function percentilesOf(of: Histogram): Percentiles {
  return {
    count: of.totalCount,
    p50Ms: of.getValueAtPercentile(50),
    p99Ms: of.getValueAtPercentile(99),
    maxMs: of.maxValue,
  };
}
