import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { VisitorModel } from '../../ingest/testing/visitors.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client, type Credential } from '../cluster/client.ts';
import type { Cluster } from '../cluster/cluster.ts';

/** An event of a visitor, as a server would forward it. */
export interface SentEvent {
  readonly atMs: number;
  readonly address: string;
  readonly agent: string;
  readonly name: string;
  readonly profileId?: string;
  readonly properties: Readonly<Record<string, string | number>>;
}

const BATCH = 1_000;
const WAIT_MS = 30_000;

/** Sends events through `/track/batch` to the first site, and waits until the figures count them all. */
export async function sendEvents(
  cluster: Cluster,
  host: string,
  events: readonly SentEvent[],
): Promise<void> {
  const url = cluster.url(host);
  const client = new Client(2);
  const { write, read } = cluster.credentials.clients;
  for (let from = 0; from < events.length; from += BATCH) {
    const bodies = events.slice(from, from + BATCH).map(bodyOf);
    const { status, body } = await client.post(`${url}/track/batch`, write, {}, JSON.stringify(bodies));
    const { rejected } = body as { readonly rejected?: readonly unknown[] };
    if (status !== 200 || rejected?.length !== 0)
      throw new Error(`/track/batch: ${status} ${JSON.stringify(body).slice(0, 500)}`);
  }
  client.close();
  const views = events.filter(({ name }) => name === 'screen_view').length;
  await waitFor('all page views are counted', async () => (await viewsOf(url, read)) >= views, WAIT_MS);
}

async function viewsOf(url: string, { id, secret }: Credential): Promise<number> {
  const response = await fetch(`${url}/insights/demo/metrics?range=12m`, {
    headers: { 'service-client-id': id, 'service-client-secret': secret },
  });
  if (!response.ok) return 0;
  return ((await response.json()) as { metrics: { total_screen_views: number } }).metrics.total_screen_views;
}

function bodyOf({ atMs, address, agent, name, profileId, properties }: SentEvent): object {
  return {
    type: 'track',
    payload: {
      name,
      ...(profileId !== undefined && { profileId }),
      properties: {
        ...properties,
        __timestamp: new Date(atMs).toISOString(),
        __ip: address,
        __userAgent: agent,
      },
    },
  };
}

/** Visits of the last `days` days, believable and the same for the same time: fewer at night, more towards today. */
export function believableVisits(nowMs: number, days: number, visits: number): readonly SentEvent[] {
  const random = new SeededRandom(11);
  const model = new VisitorModel(7, Math.round(visits / 2));
  const events: SentEvent[] = [];
  for (let index = 0; index < visits; index += 1) {
    const visit = model.nextVisit();
    const daysAgo = Math.floor(random.next() ** 1.3 * days);
    const hour = Math.min(23, Math.max(0, 13 + (random.next() + random.next() + random.next() - 1.5) * 9));
    const midnightMs = Math.floor(nowMs / DAY_MS) * DAY_MS - daysAgo * DAY_MS;
    let atMs = midnightMs + hour * HOUR_MS;
    // Future visits are moved into the last half hour, so there are current ones.
    if (atMs > nowMs) atMs = nowMs - random.next() * (HOUR_MS / 2);
    for (const [at, step] of visit.steps.entries()) {
      atMs += step.afterMs;
      if (atMs > nowMs) break;
      events.push({
        atMs,
        address: visit.address,
        agent: visit.userAgent,
        name: step.name,
        ...(visit.profileId !== '' && { profileId: visit.profileId }),
        properties: {
          ...step.properties,
          __path: `https://shop.example${encodeURI(step.path)}`,
          __title: step.title,
          ...(at === 0 && visit.referrer !== '' && { __referrer: visit.referrer }),
        },
      });
    }
  }
  return events;
}
