import { freePorts } from '../launch/ports.ts';
import { clusterConfig } from './cluster-config.ts';
import { untilFormed } from './formed-cluster.ts';
import { type NatsServer, startNatsServer } from './nats-server.ts';

/** Three real nats-servers that are one bus, on loopback. */
export interface NatsCluster {
  /** In the form of `NATS_URL`. */
  readonly url: string;
  readonly servers: readonly NatsServer[];
  stop(): Promise<void>;
}

const SERVERS = 3;

/** Starts a cluster. Resolves once it takes streams with a copy on each of its servers. */
export async function startNatsCluster(): Promise<NatsCluster> {
  // All together: a port that is free, and is not listened on yet, would be found again.
  const all = await freePorts('127.0.0.1', 2 * SERVERS);
  const [ports, routes] = [all.slice(SERVERS), all.slice(0, SERVERS)];
  const servers = await Promise.all(
    ports.map((port, index) => startNatsServer({ port, config: clusterConfig(routes, index) })),
  );
  const url = servers.map((server) => server.url).join(',');
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    await untilFormed(url, servers);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, servers, stop };
}
