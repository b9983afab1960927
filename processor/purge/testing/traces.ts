import { connect } from 'nats';
import type { Store } from '../../../infra/store/store.ts';

/** The searched data: every table of the store, and every message of every stream of the bus, buckets included. */
export interface Searched {
  readonly store: Store;
  readonly busUrl: string;
}

/** Location of a text: in a table's row, or in a message's subject or bytes. */
export interface Trace {
  readonly location: string;
  readonly text: string;
}

/**
 * Everything that still contains one of `texts`: live rows, mutations remembered by the store, messages, and names of keys, which may be in
 * base64url.
 */
export async function tracesOf({ store, busUrl }: Searched, texts: readonly string[]): Promise<Trace[]> {
  const needles = texts.flatMap((text) => [text, Buffer.from(text).toString('base64url')]);
  const says = (bytes: string | Buffer) => needles.some((needle) => bytes.includes(needle));
  const traces: Trace[] = [];
  const tables = await store.query<{ name: string }>(
    'SELECT name FROM system.tables WHERE database = currentDatabase()',
  );
  for (const { name } of tables) {
    for await (const group of store.stream<Record<string, unknown>>(`SELECT * FROM ${name}`)) {
      for (const row of group) {
        const text = JSON.stringify(row);
        if (says(text)) traces.push({ location: name, text });
      }
    }
  }
  for (const { command } of await store.query<{ command: string }>('SELECT command FROM system.mutations'))
    if (says(command)) traces.push({ location: 'mutations', text: command });
  const { hostname, port } = new URL(busUrl);
  const connection = await connect({ servers: `${hostname}:${port}` });
  const manager = await connection.jetstreamManager();
  for await (const { config, state } of manager.streams.list()) {
    for (let sequence = state.first_seq; sequence <= state.last_seq; sequence += 1) {
      // A removed message leaves a gap in the sequence.
      const message = await manager.streams.getMessage(config.name, { seq: sequence }).catch(() => undefined);
      if (message === undefined) continue;
      const bytes = Buffer.from(message.data);
      if (says(message.subject) || says(bytes))
        traces.push({ location: config.name, text: `${message.subject} ${bytes.toString('latin1')}` });
    }
  }
  await connection.close();
  return traces;
}
