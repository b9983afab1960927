import { z } from 'zod';
import { type Answer, type Client, type Credential, rejectOf } from './client.ts';

const metricsSchema = z.object({
  metrics: z.object({
    bounce_rate: z.number(),
    unique_visitors: z.number(),
    total_sessions: z.number(),
    avg_session_duration: z.number(),
    total_screen_views: z.number(),
  }),
});
export type Metrics = z.output<typeof metricsSchema>['metrics'];

const exportSchema = z.object({
  meta: z.object({ count: z.number(), totalCount: z.number(), pages: z.number(), current: z.number() }),
  data: z.array(z.object({ id: z.string(), name: z.string(), sessionId: z.string() })),
});
export type ExportPage = z.output<typeof exportSchema>;

const liveSchema = z.object({ visitors: z.number() });

/** Asks the query side of one host as one client. */
export class Questions {
  readonly #client: Client;
  readonly #url: string;
  readonly #site: string;
  readonly #credential: Credential;

  constructor(client: Client, url: string, site: string, credential: Credential) {
    this.#client = client;
    this.#url = url;
    this.#site = site;
    this.#credential = credential;
  }

  /** Figures of the days from `startDate` to `endDate`, both included. */
  async metrics(startDate: string, endDate: string): Promise<Metrics> {
    const answer = await this.#ask(
      `/insights/${this.#site}/metrics?startDate=${startDate}&endDate=${endDate}`,
    );
    return metricsSchema.parse(answer.body).metrics;
  }

  /** One page of the events with these names. */
  async exportPage(names: readonly string[], page: number, limit: number): Promise<ExportPage> {
    const query = new URLSearchParams([
      ['projectId', this.#site],
      ['page', String(page)],
      ['limit', String(limit)],
      ...names.map((name): [string, string] => ['event', name]),
    ]);
    return exportSchema.parse((await this.#ask(`/export/events?${query}`)).body);
  }

  async live(): Promise<number> {
    return liveSchema.parse((await this.#ask(`/insights/${this.#site}/live`)).body).visitors;
  }

  async #ask(path: string): Promise<Answer> {
    const answer = await this.#client.get(this.#url + path, this.#credential);
    if (answer.status !== 200) throw new Error(`${path}: ${rejectOf(answer)}`);
    return answer;
  }
}

/** The UTC day of a time, as the API takes it. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/**
 * A share as the API gives it: two decimals, 0 when nothing is counted. Both sides of a comparison must round alike.
 */
export function shownRatio(value: number, of: number): number {
  return of === 0 ? 0 : Math.round((value / of) * 100) / 100;
}
