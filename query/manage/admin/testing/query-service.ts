import { Bus } from '../../../../infra/bus/bus.ts';
import { systemClock } from '../../../../infra/clock.ts';
import { readConfig } from '../../../../infra/config.ts';
import { HttpServer } from '../../../../infra/http/http.ts';
import { createLogger } from '../../../../infra/log.ts';
import { Metrics } from '../../../../infra/metrics.ts';
import { ServiceLanes } from '../../../../infra/process/service-lanes.ts';
import { mount } from '../../../main.ts';
import type { ClientKey } from '../../testing/manage-service.ts';

/** The real query service on a bus without a store: sufficient for everything below `/manage`. */
export interface QueryService {
  /** The status of a request that only a root client may send. */
  status(key: ClientKey): Promise<number>;
  stop(): Promise<void>;
}

export async function startQueryService(natsUrl: string): Promise<QueryService> {
  const log = createLogger('test', 'silent');
  const config = readConfig({
    NATS_URL: natsUrl,
    CLICKHOUSE_URL: 'http://127.0.0.1:1',
    MANAGE_LIMIT_PER_10_S: '0',
  });
  const bus = await Bus.connect({ url: natsUrl, name: 'query' }, log);
  const http = new HttpServer((error) => {
    throw error;
  });
  const metrics = new Metrics();
  const mounted = await mount({
    config,
    log,
    metrics,
    bus,
    http,
    clock: systemClock,
    crashPoint: () => {},
    lanes: ServiceLanes.fixed(1),
  });
  const url = `http://127.0.0.1:${await http.listen('127.0.0.1', 0)}`;
  return {
    status: async ({ id, secret }) => {
      const headers = { 'service-client-id': id, 'service-client-secret': secret };
      return (await fetch(`${url}/manage/projects`, { headers })).status;
    },
    stop: async () => {
      await mounted.stop();
      http.close();
      await bus.close();
    },
  };
}
