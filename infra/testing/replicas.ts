import http, { type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * Simulates a cluster of three replicas in front of one embedded store, at its worst:
 *
 *     most replicas    the database that is named            has every insert with a quorum immediately
 *     one behind       another one, `…__behind`              has inserts once it catches up, and definitions immediately
 *
 * A read without `select_sequential_consistency`, or after parallel inserts, comes from the replica behind. An insert
 * without `insert_quorum` is acknowledged by a replica and lost right after. A deletion runs on each of them, by its
 * own rows, and is rejected if its condition reads a table. Answers can be lost. With `sharesFiles` they are replicas
 * of ClickHouse Cloud instead: an insert needs no quorum, definitions reach all by themselves, and the only cluster is
 * `default`.
 *
 * It has no replication of its own: the tests do not prove the documentation of a real cluster.
 */
export interface Replicas {
  readonly url: string;
  /** Stores the next inserts and resets their connections. */
  loseAnswers(count: number): void;
  /** Brings the replica that is behind up to date. */
  catchUp(): Promise<void>;
  /** The texts of statements, as they arrived. */
  readonly texts: readonly string[];
  stop(): Promise<void>;
}

export interface ReplicasOptions {
  /** Settings that are taken as not sent. */
  readonly ignored?: readonly string[];
  readonly shards?: number;
  readonly sharesFiles?: boolean;
}

/** Both kinds of them, by their names. */
export const KINDS_OF_REPLICAS: readonly (readonly [string, ReplicasOptions])[] = [
  ['replicas', {}],
  ['replicas of ClickHouse Cloud', { sharesFiles: true }],
];

interface SentStatement {
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface ReplicaAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const URL_MAX_BYTES = 1_048_576;
const BEHIND = '__behind';

export async function startReplicas(
  target: string,
  { ignored = [], shards = 1, sharesFiles = false }: ReplicasOptions = {},
): Promise<Replicas> {
  const agent = new http.Agent({ keepAlive: true });
  const texts: string[] = [];
  const waiting: SentStatement[] = [];
  let answersToLose = 0;
  let isOrderly = true;

  const catchUp = async () => {
    for (const sent of waiting.splice(0)) await forward(agent, behind(sent));
  };
  const onBoth = async (sent: SentStatement): Promise<ReplicaAnswer> => {
    const answer = await forward(agent, sent);
    return answer.status === 200 ? forward(agent, behind(sent)) : answer;
  };
  const answerTo = async (sent: SentStatement, text: string): Promise<ReplicaAnswer | undefined> => {
    const sql = alone(text).replace(/^(?:\s|--.*\n)+/, '');
    const sentWith = (name: string) => (ignored.includes(name) ? null : sent.url.searchParams.get(name));
    if (sharesFiles && / ON CLUSTER '(?!default')/.test(text)) return rejected(170, 'CLUSTER_DOESNT_EXIST');
    if (sharesFiles && sql.includes('FROM system.settings')) sent.url.searchParams.set('cloud_mode', '1');
    if (sql.includes('system.clusters')) return said({ replicas: 3, shards, macros: ['replica', 'shard'] });
    if (sql.startsWith('SYSTEM SYNC REPLICA')) {
      await catchUp();
      return said({});
    }
    if (/^(?:CREATE|DROP|TRUNCATE|ALTER)\b/.test(sql)) {
      if (/^ALTER TABLE \S+ (?:DELETE|UPDATE)[\s\S]*\(SELECT /.test(sql))
        return rejected(36, 'BAD_ARGUMENTS');
      return onBoth(sent);
    }
    if (!sql.startsWith('INSERT')) {
      const isConsistent = isOrderly && sentWith('select_sequential_consistency') === '1';
      return forward(agent, isConsistent ? sent : behind(sent));
    }
    if (!sharesFiles && sentWith('insert_quorum') === null) return said({});
    if (!sharesFiles && sentWith('insert_quorum_parallel') !== '0') isOrderly = false;
    const answer = await forward(agent, sent);
    if (answer.status === 200) waiting.push(sent);
    if (answersToLose === 0) return answer;
    answersToLose -= 1;
    return undefined;
  };

  const server = http.createServer({ maxHeaderSize: URL_MAX_BYTES }, (incoming, outgoing) => {
    const run = async () => {
      const body = await buffer(incoming);
      const url = new URL(incoming.url ?? '/', target);
      const inUrl = url.searchParams.get('query');
      const text = inUrl ?? body.toString();
      texts.push(text);
      const sql = alone(text);
      if (inUrl !== null) url.searchParams.set('query', sql);
      const sent = { url, headers: incoming.headers, body: inUrl === null ? Buffer.from(sql) : body };
      const answer = await answerTo(sent, text);
      if (answer === undefined) {
        incoming.socket.resetAndDestroy();
        return;
      }
      const { 'transfer-encoding': _, ...headers } = answer.headers;
      outgoing.writeHead(answer.status, { ...headers, 'content-length': String(answer.body.length) });
      outgoing.end(answer.body);
    };
    run().catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseAnswers: (count) => {
      answersToLose = count;
    },
    catchUp,
    texts,
    stop: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A statement for a cluster as an engine without one takes it. */
function alone(text: string): string {
  return text
    .replace(/ ON CLUSTER '[^']*'/, '')
    .replace(/Replicated(\w*MergeTree)\('[^']*', '[^']*'(?:, )?/, '$1(')
    .replace(/(?<!\w)replicated_deduplication_window = (\d+)/, 'non_replicated_deduplication_window = $1')
    .replace(/, replicated_deduplication_window_seconds = \d+/, '');
}

/** The same for the replica that is behind. */
function behind({ url, headers, body }: SentStatement): SentStatement {
  const there = new URL(url);
  const database = there.searchParams.get('database');
  if (database !== null && database !== 'default') there.searchParams.set('database', database + BEHIND);
  const text = body.toString();
  const made = /^CREATE DATABASE IF NOT EXISTS `(\w+)`/.exec(text);
  return {
    url: there,
    headers,
    body: made === null ? body : Buffer.from(text.replace(`\`${made[1]}\``, `\`${made[1]}${BEHIND}\``)),
  };
}

function forward(agent: http.Agent, { url, headers, body }: SentStatement): Promise<ReplicaAnswer> {
  const { 'transfer-encoding': _, ...kept } = headers;
  return new Promise((resolve, reject) => {
    const request = http.request(url, {
      agent,
      method: 'POST',
      headers: { ...kept, 'content-length': String(body.length) },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      buffer(response).then(
        (bytes) => resolve({ status: response.statusCode ?? 500, headers: response.headers, body: bytes }),
        reject,
      );
    });
    request.end(body);
  });
}

function said(row: object): ReplicaAnswer {
  return { status: 200, headers: {}, body: Buffer.from(`${JSON.stringify(row)}\n`) };
}

function rejected(code: number, type: string): ReplicaAnswer {
  const headers = { 'x-clickhouse-exception-code': String(code) };
  return { status: 400, headers, body: Buffer.from(`Code: ${code}. DB::Exception: refused. (${type})\n`) };
}
