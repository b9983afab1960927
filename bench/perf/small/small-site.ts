import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { DAY_MS } from '../../../infra/durations.ts';
import type { Store } from '../../../infra/store/store.ts';
import { SeededRandom } from '../../../ingest/testing/random.ts';
import { VisitorModel } from '../../../ingest/testing/visitors.ts';
import { Client, rejectOf } from '../../cluster/client.ts';
import type { ShippedService } from '../../cluster/shipped-service.ts';
import { trackBody, trackHeaders } from '../../traffic/visit-request.ts';

/** Between two steps of a made visit. */
const STEP_MS = 20_000;
const EVENTS_A_BODY = 200;
const SENDERS = 4;
/** Between two events of the visitor who comes while questions run; a flush lies between them, so rows are always hot. */
const TRICKLE_EVERY_MS = 500;
const CALM_MS = 4_000;
const CALM_MAX_MS = 300_000;
const LOOK_EVERY_MS = 250;

export interface SmallSitePlan {
  readonly seed: number;
  readonly events: number;
  /** Number of days over which the events are spread, up to now. */
  readonly days: number;
}

/** Sends the visits of the last days to the service, oldest first, as a server would that reports late. */
export async function sendSmallSite(service: ShippedService, plan: SmallSitePlan): Promise<void> {
  const bodies = [...bodiesOf(plan)];
  const client = new Client(SENDERS);
  const { url, credentials } = service;
  const sendRest = async () => {
    for (let body = bodies.shift(); body !== undefined; body = bodies.shift()) {
      const answer = await client.post(`${url}/track/batch`, credentials.clients.write, {}, body);
      if (answer.status !== 202 && answer.status !== 200)
        throw new Error(`events were not taken: ${rejectOf(answer)}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: SENDERS }, sendRest));
  } finally {
    client.close();
  }
}

/** Batches of the plan's events. A device id of its own lets each visit be a visit of its day. */
function* bodiesOf({ seed, events, days }: SmallSitePlan): Generator<string> {
  const model = new VisitorModel(seed, Math.max(1, Math.floor(events / 6)));
  const random = new SeededRandom(seed);
  const nowMs = Date.now();
  let batch: unknown[] = [];
  for (let made = 0; made < events; ) {
    const visit = model.nextVisit();
    const ageMs = days * DAY_MS * (1 - (made + random.next()) / events);
    let atMs = nowMs - Math.max(ageMs, visit.steps.length * STEP_MS + 1_000);
    const deviceId = createHash('sha256')
      .update(`${visit.address} ${visit.userAgent} ${Math.floor(atMs / DAY_MS)}`)
      .digest('hex')
      .slice(0, 32);
    for (const [index, step] of visit.steps.entries()) {
      if (made === events) break;
      const event = JSON.parse(trackBody(visit, step, index === 0)) as TrackBody;
      Object.assign(event.payload.properties, {
        __timestamp: atMs,
        __deviceId: deviceId,
        __ip: visit.address,
        __userAgent: visit.userAgent,
      });
      batch.push(event);
      atMs += STEP_MS;
      made += 1;
      if (batch.length < EVENTS_A_BODY) continue;
      yield JSON.stringify(batch);
      batch = [];
    }
  }
  if (batch.length > 0) yield JSON.stringify(batch);
}

interface TrackBody {
  readonly payload: { readonly properties: Record<string, unknown> };
}

/** A visitor that views a page twice a second until `stop`, so some rows are always unflushed. */
export class Trickle {
  readonly #client = new Client(1);
  readonly #running: Promise<void>;
  #isStopped = false;

  constructor({ url, credentials }: ShippedService, seed: number) {
    const model = new VisitorModel(seed + 1, 100);
    this.#running = (async () => {
      while (!this.#isStopped) {
        const visit = model.nextVisit();
        const body = trackBody(visit, visit.steps[0], true);
        const answer = await this.#client.post(
          `${url}/track`,
          credentials.clients.write,
          trackHeaders(visit),
          body,
        );
        if (answer.status !== 200) throw new Error(`an event was not taken: ${rejectOf(answer)}`);
        await wait(TRICKLE_EVERY_MS);
      }
    })();
    // `stop` reports the failure; unhandled, it would end the process before that.
    this.#running.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    this.#client.close();
  }
}

/** Waits until neither rollups nor merges have changed anything for a while; returns whether that came. */
export async function untilCalm(store: Store): Promise<boolean> {
  const endMs = Date.now() + CALM_MAX_MS;
  let known = '';
  for (let calmSinceMs = Date.now(); Date.now() - calmSinceMs < CALM_MS; ) {
    if (Date.now() > endMs) return false;
    const parts = await store.query<{ parts: string }>(
      `SELECT concat(toString(groupArray(name)), toString((SELECT count() FROM system.merges))) AS parts FROM
       (SELECT name FROM system.parts WHERE active AND database = currentDatabase() ORDER BY name)`,
    );
    const found = parts[0]?.parts ?? '';
    if (found !== known) calmSinceMs = Date.now();
    known = found;
    await wait(LOOK_EVERY_MS);
  }
  return true;
}
