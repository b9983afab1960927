import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { build as buildHistogram, type Histogram } from 'hdr-histogram-js';
import { SeededRandom } from '../../../ingest/testing/random.ts';
import type { Load, OpenLoad, OwnFigures } from './load.ts';
import { readPool } from './request-pool.ts';

// HTTP clients such as autocannon and undici spend most of a request's time on work that a generator does not need: they build a
// request from its parts and parse every header of the answer.

/** Longest wait for answers after the last request, unless the load says another one. */
const LAST_ANSWERS_MAX_MS = 10_000;
const MICROS_PER_MS = 1_000;
const LATENCY_MAX_MICROS = 60_000_000;

/** The program behind `bench/main.ts load PLAN`: runs the load of a file and prints its figures as JSON. */
export async function runLoadPlan(planPath: string): Promise<void> {
  const load = JSON.parse(readFileSync(planPath, 'utf8')) as Load & Partial<OpenLoad>;
  process.stdout.write(`${JSON.stringify(await generateLoad(load))}\n`);
}

/** Runs a load in this process. */
export function generateLoad(load: Load | OpenLoad): Promise<OwnFigures> {
  return new Generator(load).run();
}

/**
 * Sends whole requests of a pool over kept connections. With a rate, request n starts n/rate seconds after the first,
 * on the connection that is idle for the longest time; without an idle connection it waits, and the wait counts.
 */
class Generator {
  readonly #load: Load & Partial<OpenLoad>;
  readonly #requests: readonly Buffer[];
  readonly #random: SeededRandom;
  readonly #histogram: Histogram = buildHistogram({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LATENCY_MAX_MICROS,
    numberOfSignificantValueDigits: 3,
  });
  #idle: Connection[] = [];
  /** Intended starts of requests that wait for an idle connection. At most all requests of the run. */
  #waitingMs: number[] = [];
  #accepted = 0;
  #failed = 0;
  #refused = 0;
  #unanswered = 0;
  #inFlight = 0;
  #ended = false;

  constructor(load: Load & Partial<OpenLoad>) {
    this.#load = load;
    this.#requests = readPool(load.pool);
    this.#random = new SeededRandom(load.seed);
  }

  async run(): Promise<OwnFigures> {
    const { url, connections, seconds, ratePerSec } = this.#load;
    const { hostname, port } = new URL(url);
    const address = { host: hostname, port: Number(port) };
    const opened = Array.from({ length: connections }, () => new Connection(address, this));
    await Promise.all(opened.map((connection) => connection.connected));
    this.#idle = [...opened];
    const cpuBefore = process.cpuUsage();
    const startMs = performance.now();
    if (ratePerSec === undefined) await this.#sendUntil(startMs + seconds * 1_000);
    else await this.#sendAtRate(startMs, { seconds, ratePerSec });
    const tookS = (performance.now() - startMs) / 1_000;
    const cpu = process.cpuUsage(cpuBefore);
    for (const connection of opened) connection.close();
    return {
      // At a rate, waiting for the last answers is no part of the load.
      seconds: ratePerSec === undefined ? tookS : seconds,
      accepted: this.#accepted,
      failed: this.#failed,
      refused: this.#refused,
      unanswered: this.#unanswered,
      perSec: this.#accepted / (ratePerSec === undefined ? tookS : seconds),
      p50Ms: this.#histogram.getValueAtPercentile(50) / MICROS_PER_MS,
      p99Ms: this.#histogram.getValueAtPercentile(99) / MICROS_PER_MS,
      maxMs: this.#histogram.maxValue / MICROS_PER_MS,
      generatorCpuMicros: cpu.user + cpu.system,
    };
  }

  /** Called by a connection when its request was answered, or with a status of 0 when it broke. */
  answered(connection: Connection, status: number): void {
    this.#inFlight -= 1;
    if (status >= 200 && status < 400) this.#accepted += 1;
    else this.#failed += 1;
    if (status === 503) this.#refused += 1;
    const micros = Math.round((performance.now() - connection.intendedMs) * MICROS_PER_MS);
    this.#histogram.recordValue(Math.min(LATENCY_MAX_MICROS, Math.max(1, micros)));
    if (this.#load.ratePerSec === undefined) {
      if (!this.#ended) this.#send(connection, performance.now());
      return;
    }
    const waitingMs = this.#waitingMs.shift();
    if (waitingMs === undefined) this.#idle.push(connection);
    else this.#send(connection, waitingMs);
  }

  async #sendUntil(endMs: number): Promise<void> {
    for (const connection of this.#idle) this.#send(connection, performance.now());
    await new Promise((resolve) => setTimeout(resolve, endMs - performance.now()));
    this.#ended = true;
  }

  async #sendAtRate(
    startMs: number,
    { seconds, ratePerSec }: { readonly seconds: number; readonly ratePerSec: number },
  ): Promise<void> {
    const { dropsLate = false } = this.#load;
    const count = Math.round(seconds * ratePerSec);
    const gapMs = 1_000 / ratePerSec;
    for (let index = 0; index < count; ) {
      const dueMs = startMs + index * gapMs;
      if (dueMs > performance.now()) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        continue;
      }
      const connection = this.#idle.shift();
      if (connection !== undefined) this.#send(connection, dueMs);
      else if (dropsLate) this.#unanswered += 1;
      else this.#waitingMs.push(dueMs);
      index += 1;
    }
    const deadlineMs = performance.now() + (this.#load.lastAnswersMaxMs ?? LAST_ANSWERS_MAX_MS);
    while (this.#inFlight + this.#waitingMs.length > 0 && performance.now() < deadlineMs)
      await new Promise((resolve) => setTimeout(resolve, 5));
    this.#unanswered += this.#inFlight + this.#waitingMs.length;
    this.#failed += this.#unanswered;
  }

  #send(connection: Connection, intendedMs: number): void {
    const request = this.#requests[this.#random.below(this.#requests.length)];
    if (request === undefined) throw new Error('the pool is empty');
    this.#inFlight += 1;
    connection.send(request, intendedMs);
  }
}

/** One kept connection with one request in flight at most. A broken one is opened again. */
class Connection {
  readonly #address: { readonly host: string; readonly port: number };
  readonly #generator: Generator;
  #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #isBusy = false;
  #isClosed = false;
  /** When the request in flight was meant to start. */
  intendedMs = 0;
  readonly connected: Promise<void>;

  constructor(address: { readonly host: string; readonly port: number }, generator: Generator) {
    this.#address = address;
    this.#generator = generator;
    this.#socket = this.#open();
    const socket = this.#socket;
    this.connected = new Promise((resolve, reject) => {
      socket.once('connect', () => resolve());
      socket.once('error', reject);
    });
  }

  send(request: Buffer, intendedMs: number): void {
    this.intendedMs = intendedMs;
    this.#isBusy = true;
    this.#socket.write(request);
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #open(): Socket {
    const socket = connect({ ...this.#address, noDelay: true });
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => {}); // `close` follows.
    socket.once('close', () => this.#broke());
    return socket;
  }

  #broke(): void {
    if (this.#isClosed) return;
    this.#received = Buffer.alloc(0);
    this.#socket = this.#open();
    if (this.#isBusy) this.#done(0);
  }

  #read(chunk: Buffer): void {
    const all = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = all.indexOf('\r\n\r\n');
    const head = headEnd < 0 ? '' : all.toString('latin1', 0, headEnd);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (headEnd < 0 || all.length < headEnd + 4 + length) {
      this.#received = all;
      return;
    }
    this.#received = all.subarray(headEnd + 4 + length);
    this.#done(Number(head.slice(9, 12)));
  }

  #done(status: number): void {
    this.#isBusy = false;
    this.#generator.answered(this, status);
  }
}
