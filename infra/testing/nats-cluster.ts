import { freePorts } from '../launch/ports.mjs';
import { clusterConfig } from './cluster-config.ts';
import { type NatsServer, startNatsServer } from './nats-server.ts';

/** Three real nats-servers that are one bus, on loopback. */
export interface NatsCluster {
  /** As in `NATS_URL`. */
  readonly url: string;
  readonly servers: readonly NatsServer[];
  stop(): Promise<void>;
}

const SERVERS = 3;

/** Starts a cluster. It takes a few seconds more until its servers have chosen a leader and accept streams. */
export async function startNatsCluster(): Promise<NatsCluster> {
  // All at once: a port that is free, and is not listened on yet, would be found again.
  const all = await freePorts('127.0.0.1', 2 * SERVERS);
  const [ports, routes] = [all.slice(SERVERS), all.slice(0, SERVERS)];
  const servers = await Promise.all(
    ports.map((port, index) => startNatsServer({ port, config: clusterConfig(routes, index) })),
  );
  return {
    url: servers.map(({ url }) => url).join(','),
    servers,
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
