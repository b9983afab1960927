import { MINUTE_MS } from '../../infra/durations.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import { AGENTS, BUSY_SITE, SITES } from './fixtures.ts';
import type { Sender } from './sender.ts';
import type { Sent } from './visits.ts';

const PAUSE_MS = 200;
const THREE_DAYS_MS = 259_200_000;
const NOW_EVENTS = 40;

/** Sends events of the last days for a site that is never asked about, until the returned function is called. */
export function startBusySite(sender: Sender, random: SeededRandom): () => Promise<void> {
  let isBusy = true;
  const running = (async () => {
    while (isBusy) {
      await sender.send(busyEvents(random, 8));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  })();
  return async () => {
    isBusy = false;
    await running;
  };
}

/** Events of many devices of that site, or of another one. */
export function busyEvents(random: SeededRandom, count: number, site = BUSY_SITE.id): Sent[] {
  return Array.from({ length: count }, () =>
    sentOf(site, AGENTS[0], 'screen_view', {
      __deviceId: `busy-${random.below(100_000)}`,
      __path: '/',
      __timestamp: Date.now() - random.below(THREE_DAYS_MS),
    }),
  );
}

/** Visits of the last fifty minutes for every site, without payments, so they can be counted without the store. */
export function lastMinutes(random: SeededRandom): Sent[] {
  return SITES.flatMap(({ id }) =>
    Array.from({ length: NOW_EVENTS }, (_, index) =>
      sentOf(id, random.one(AGENTS), random.one(['screen_view', 'screen_view', 'click']), {
        __deviceId: `${id}-now-${index % 17}`,
        __path: `/${random.below(14)}`,
        __ip: random.one(['8.8.8.8', '81.2.69.142', '1.1.1.1']),
        __timestamp: Date.now() - random.below(50 * MINUTE_MS),
      }),
    ),
  );
}

function sentOf(site: string, agent: string, name: string, properties: object): Sent {
  const body = { type: 'track', projectId: site, payload: { name, properties } };
  return { part: 0, site, agent, body, isEvent: true, isPayment: false };
}
