import { CONTROL_BUCKET, encodeRecord, siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import type { Cluster, Groundwork } from '../cluster/cluster.ts';
import { type Asker, ask, type TurnOptions, timeTurns } from './query-questions.ts';
import { clientIds } from './query-site.ts';
import type { Table } from './results.ts';

/** A site beside the one with the history: its answers must not depend on the other's questions. */
export const NEIGHBOUR = 'neighbour';

/**
 * A page or a session of any path: a year of them is read, and each is matched against an expression. No two numbers have equal
 * filters, because equal questions at the same time would be one.
 */
export function longFilters(number: number): string {
  const value = [`^/.*[aeiou].*[0-9]*.$|^${number}$`];
  return JSON.stringify([{ name: 'path', operator: 'regex', value }]);
}

const LONG_QUESTIONS = ['pages', 'metrics', 'active_users', 'events/names'];
/** More than may run and wait for one site: some are rejected all the time. */
const AT_ONCE = 120;
/** Clients of the neighbour: each may ask a hundred times in ten seconds. */
const ASKERS = 40;
const REFUSED_PAUSE_MS = 250;
const ANSWER_MAX_MS = 130_000;
/** The longest time that a queue of a hundred questions about a large site may take. */
const LONG_ANSWER_MAX_MS = 1_800_000;

/** Creates the neighbour, which has no events, unless it exists. */
export async function addNeighbour({ busUrl, credentials }: Groundwork): Promise<void> {
  const bus = await Bus.connect({ url: busUrl, name: 'bench' }, createLogger('bench', 'silent'));
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const { bytes } = must(await bucket.get(siteKeyOf(credentials.projectId)), 'the site has no record');
  const site = siteSchema.parse(JSON.parse(Buffer.from(must(bytes, 'it was removed')).toString('utf8')));
  const found = await bucket.get(siteKeyOf(NEIGHBOUR));
  if (found?.bytes === undefined)
    await bucket.put(
      siteKeyOf(NEIGHBOUR),
      encodeRecord({ ...site, id: NEIGHBOUR, storedId: storedId(NEIGHBOUR) }),
      found?.revision ?? 0,
    );
  await bus.close();
}

/**
 * Long questions about the site of a cluster, always more than it can answer, from the creation of this object until
 * `stop`.
 */
export class LongQuestions {
  readonly #client = new Client(AT_ONCE, LONG_ANSWER_MAX_MS);
  readonly #asking: Promise<unknown>;
  readonly #statuses = new Map<number, number>();
  #enough = false;

  constructor(cluster: Cluster, host: string) {
    const { projectId, clients } = cluster.credentials;
    const ids = clientIds(ASKERS);
    let asked = 0;
    const askOnAndOn = async () => {
      while (!this.#enough) {
        const id = ids[asked % ids.length] ?? '';
        const path = LONG_QUESTIONS[asked % LONG_QUESTIONS.length];
        asked += 1;
        const parameters = new URLSearchParams({ range: '12m', filters: longFilters(asked) });
        const { status } = await this.#client
          .get(`${cluster.url(host)}/insights/${projectId}/${path}?${parameters}`, {
            id,
            secret: clients.read.secret,
          })
          .catch((error: unknown) => {
            if (this.#enough) return { status: 0 };
            throw error;
          });
        if (status === 0) return;
        this.#statuses.set(status, this.count(status) + 1);
        if (status !== 200) await new Promise((resolve) => setTimeout(resolve, REFUSED_PAUSE_MS));
      }
    };
    this.#asking = Promise.all(Array.from({ length: AT_ONCE }, askOnAndOn));
    // `stop` reports the failure; unhandled, it would end the process before that.
    this.#asking.catch(() => {});
  }

  /** Number of answers with this status so far. */
  count(status: number): number {
    return this.#statuses.get(status) ?? 0;
  }

  get statuses(): readonly number[] {
    return [...this.#statuses.keys()].sort((a, b) => a - b);
  }

  /** Sends no more questions and waits for no answer. Throws when one failed before. */
  async stop(): Promise<void> {
    this.#enough = true;
    this.#client.close();
    await this.#asking;
  }
}

export interface NeighbourOptions {
  readonly host: string;
  readonly turns: TurnOptions;
}

/** Measures the neighbour's live number and figures, and figures of the site itself, by themselves and beside long questions. */
export async function besideLongQuestions(
  cluster: Cluster,
  { host, turns }: NeighbourOptions,
): Promise<Table> {
  const client = new Client(1, ANSWER_MAX_MS);
  const credential = cluster.credentials.clients.root;
  const asker: Asker = { client, url: cluster.url(host), site: NEIGHBOUR, credential };
  const own: Asker = { ...asker, site: cluster.credentials.projectId };
  const times = async (when: string) => {
    const live = await timeTurns(() => ask(asker, 'live', undefined), turns);
    const metrics = await timeTurns(() => ask(asker, 'metrics', 'last24h'), turns);
    const day = await timeTurns(() => ask(own, 'metrics', 'last24h'), turns);
    const month = await timeTurns(() => ask(own, 'metrics', '30d'), turns);
    return {
      [`live, ${when}`]: { ...live },
      [`24h metrics, ${when}`]: { ...metrics },
      [`24h metrics of the site itself, ${when}`]: { ...day },
      [`30d metrics of the site itself, ${when}`]: { ...month },
    };
  };
  const alone = await times('alone');
  const long = new LongQuestions(cluster, host);
  await waitFor('a line of long questions', () => long.count(503) > 0, ANSWER_MAX_MS);
  const beside = await times('beside');
  await long.stop();
  client.close();
  return { ...alone, ...beside };
}
