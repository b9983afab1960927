import { setTimeout as wait } from 'node:timers/promises';
import { build as buildHistogram, type Histogram } from 'hdr-histogram-js';
import { z } from 'zod';
import { Client, type Credentials, rejectOf } from '../cluster/client.ts';

export interface ProbeFigures {
  readonly probes: number;
  readonly questions: number;
  readonly failed: number;
  /** Why the first failed one did; empty when none did. */
  readonly failure: string;
  /** From the intended start of an event until an answer that counts it has arrived. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface ProbeOptions {
  readonly url: string;
  readonly credentials: Credentials;
  readonly everyMs: number;
  readonly seconds: number;
}

/** Questions about one site within 100 ms share fetched rows, and a client may ask 100 in 10 s. */
const ASK_EVERY_MS = 110;
const CONNECTIONS_MAX = 16;
const COUNTED_MAX_MS = 30_000;
const LATENCY_MAX_MS = 60_000;
const PAGE = 'https://shop.example/probe';
/** The agent of a browser: requests of programs are no page views. */
export const PROBE_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36';

const answerSchema = z.object({ metrics: z.object({ total_revenue: z.number() }) });

/**
 * Measures how long an event takes until `metrics` counts it. Each probe is a page view of a new visitor with an amount of
 * 1, so the site's revenue of today says how many probes an answer counts, whatever else arrives. Nothing else may send
 * money to the site.
 */
export class AnswerProbe {
  readonly #options: ProbeOptions;
  /** Two clients, so that no event waits for a question's connection. */
  readonly #sender = new Client(CONNECTIONS_MAX);
  readonly #asker = new Client(CONNECTIONS_MAX);
  readonly #histogram: Histogram = buildHistogram({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LATENCY_MAX_MS,
  });
  #startMs = 0;
  #accepted = 0;
  #counted = 0;
  #questions = 0;
  #failed = 0;
  #failure = '';
  #nextQuestionMs = 0;

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  /** Sends a probe every so often, and asks for each one, as soon as it is accepted, until an answer counts it. */
  async run(): Promise<ProbeFigures> {
    const { everyMs, seconds } = this.#options;
    const probes = Math.max(1, Math.floor((seconds * 1_000) / everyMs));
    this.#startMs = performance.now();
    const deadlineMs = this.#startMs + seconds * 1_000 + COUNTED_MAX_MS;
    const running: Promise<void>[] = [];
    for (let index = 0; index < probes; index += 1) {
      await wait(Math.max(0, this.#startMs + index * everyMs - performance.now()));
      running.push(this.#send(index).then(() => this.#askUntilCounted(index, deadlineMs)));
    }
    await Promise.all(running);
    this.#sender.close();
    this.#asker.close();
    return {
      probes,
      questions: this.#questions,
      failed: this.#failed + this.#accepted - this.#counted,
      failure: this.#failure,
      p50Ms: this.#histogram.getValueAtPercentile(50),
      p99Ms: this.#histogram.getValueAtPercentile(99),
      maxMs: this.#histogram.maxValue,
    };
  }

  async #askUntilCounted(index: number, deadlineMs: number): Promise<void> {
    while (this.#counted <= index && performance.now() < deadlineMs) {
      const atMs = Math.max(performance.now(), this.#nextQuestionMs);
      this.#nextQuestionMs = atMs + ASK_EVERY_MS;
      await wait(Math.max(0, atMs - performance.now()));
      if (this.#counted <= index) await this.#ask();
    }
  }

  async #send(index: number): Promise<void> {
    const { url, credentials } = this.#options;
    const visitor = { 'service-client-ip': `82.0.${index >> 8}.${index & 255}`, 'user-agent': PROBE_AGENT };
    const payload = { name: 'screen_view', properties: { __path: PAGE, __revenue: 100 } };
    const body = JSON.stringify({ type: 'track', payload });
    try {
      const answer = await this.#sender.post(`${url}/track`, credentials.clients.write, visitor, body);
      if (answer.status !== 200) throw new Error(rejectOf(answer));
      this.#accepted += 1;
    } catch (error) {
      this.#fail(error);
    }
  }

  async #ask(): Promise<void> {
    const { url, credentials, everyMs } = this.#options;
    this.#questions += 1;
    try {
      const path = `/insights/${credentials.projectId}/metrics?range=today`;
      const answer = await this.#asker.get(url + path, credentials.clients.read);
      if (answer.status !== 200) throw new Error(rejectOf(answer));
      const counted = Math.round(answerSchema.parse(answer.body).metrics.total_revenue);
      const nowMs = performance.now();
      for (; this.#counted < counted; this.#counted += 1) {
        const tookMs = Math.round(nowMs - (this.#startMs + this.#counted * everyMs));
        this.#histogram.recordValue(Math.min(LATENCY_MAX_MS, Math.max(1, tookMs)));
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failed += 1;
    if (this.#failure === '') this.#failure = error instanceof Error ? error.message : String(error);
  }
}
