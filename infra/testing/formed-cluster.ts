import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type JetStreamManager } from 'nats';

/** A server of a cluster. */
interface Restartable {
  /** Resolves once it runs again. */
  restart(): Promise<void>;
}

const STREAM = 'forming';
const TRY_EVERY_MS = 100;
/** Without load a cluster is formed after one to six seconds. */
const FORMED_MAX_MS = 15_000;

/**
 * Resolves once a new cluster takes streams with a copy on every server. In one of fifty first starts, nats-server 2.10.27 leaves
 * a server out of the group for good: it follows the leader, which does not know it. A restart of that server ends this.
 * @param url as in `NATS_URL`
 */
export async function untilFormed(url: string, servers: readonly Restartable[]): Promise<void> {
  const connection = await connect({
    servers: url.replaceAll('nats://', '').split(','),
    maxReconnectAttempts: -1,
  });
  try {
    const manager = await connection.jetstreamManager({ checkAPI: false });
    // Nothing says which of them the leader does not know.
    for (const server of [undefined, ...servers]) {
      await server?.restart();
      if (await takesCopies(manager, servers.length)) return;
    }
    throw new Error(`the nats-servers at ${url} do not become one cluster`);
  } finally {
    await connection.close();
  }
}

async function takesCopies(manager: JetStreamManager, copies: number): Promise<boolean> {
  const endMs = performance.now() + FORMED_MAX_MS;
  while (performance.now() < endMs) {
    try {
      await manager.streams.add({ name: STREAM, subjects: [STREAM], num_replicas: copies });
      await manager.streams.delete(STREAM);
      return true;
    } catch {
      await sleep(TRY_EVERY_MS);
    }
  }
  return false;
}
