import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type JetStreamManager } from 'nats';

/** A server of a cluster. */
interface Restartable {
  /** Resolves once it runs again. */
  restart(): Promise<void>;
}

const STREAM = 'forming';
const TRY_EVERY_MS = 100;
/** Requests before there is a leader have no answer. */
const ANSWER_MAX_MS = 500;
/** Mostly a cluster is formed within half a second; another election takes up to nine. */
const FORMED_MAX_MS = 10_000;

/**
 * Resolves once a new cluster takes streams with a copy on every server. In up to one of ten first starts, nats-server
 * 2.10.27 leaves a server out for good: a new leader adds the peer whose vote elected it and forgets the third, which
 * follows it all the same. A restart of the third server ends this.
 * @param url as in `NATS_URL`
 */
export async function untilFormed(url: string, servers: readonly Restartable[]): Promise<void> {
  const addresses = url.split(',').map((text) => new URL(text));
  const [{ username: user, password: pass } = { username: '', password: '' }] = addresses;
  const connection = await connect({
    servers: addresses.map(({ host }) => host),
    ...(user === '' ? {} : { user, pass }),
    maxReconnectAttempts: -1,
  });
  try {
    const manager = await connection.jetstreamManager({ checkAPI: false, timeout: ANSWER_MAX_MS });
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
