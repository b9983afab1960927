import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { SERVER_NAME } from '../store/server-features.ts';

/** Features of the engine that a server of the release does not have. */
export interface Newer {
  readonly settings: ReadonlySet<string>;
  readonly functions: ReadonlySet<string>;
}

/**
 * Settings of 24.8 and before that a later release gave another default or meaning, so that the engine lists them among its
 * changes, as it lists new ones.
 */
const CHANGED_SINCE = new Set([
  'async_insert',
  'compile_expressions',
  'deduplicate_blocks_in_dependent_materialized_views',
  'enable_http_compression',
  'join_algorithm',
  'output_format_json_quote_64bit_integers',
  'precise_float_parsing',
]);
/** 24.8.14.39 was the last of its release. */
const OLD_VERSION = '24.8.14.39';
/** ClickHouse's limit. A statement with tables beside it is part of its URL. */
const TEXT_MAX_BYTES = 262_144;
const URL_MAX_BYTES = 1_048_576;
/** A tuple that may be NULL came with 26.1. */
const NEWER_TYPE = /Nullable\(\s*Tuple\b/;

export interface BoundStatement {
  readonly text: string;
  readonly isLogged: boolean;
}

/**
 * A server in front of the embedded engine with the features of 24.8: it reports this version, its `system.settings`
 * lacks later settings, and it rejects a statement with a later setting, function or type like the real server. The
 * engine's own records of its settings and functions name the later ones. It has the engine's syntax and its way of
 * computing, so it shows nothing about these.
 */
export interface OlderServer {
  readonly url: string;
  /** The engine behind it. */
  readonly target: string;
  /** The settings and functions of statements that were rejected. */
  readonly rejected: readonly string[];
  /** The texts of statements that were let through. */
  readonly texts: readonly string[];
  /** Statements with bound values; `isLogged` if a server would write them to its log of statements. */
  readonly bound: readonly BoundStatement[];
  stop(): Promise<void>;
}

/** @param version the version that it reports; 24.8 when absent */
export async function startOlderServer(target: string, version: string = OLD_VERSION): Promise<OlderServer> {
  const newer = await newerThanOld(target);
  const rejected: string[] = [];
  const texts: string[] = [];
  const bound: BoundStatement[] = [];
  const hidden = [...newer.settings].map((name) => `'${name}'`).join(', ');
  const agent = new http.Agent({ keepAlive: true });
  const server = http.createServer({ maxHeaderSize: URL_MAX_BYTES }, (incoming, outgoing) => {
    const answer = async () => {
      const body = await buffer(incoming);
      const url = new URL(incoming.url ?? '/', target);
      const inUrl = url.searchParams.get('query');
      // Rows that follow a statement are bytes, and are left as they are.
      const sql = inUrl ?? body.toString('latin1');
      const reason = reasonToReject(sql, [...url.searchParams.keys()], newer);
      if (reason !== undefined) {
        rejected.push(reason.name);
        outgoing.writeHead(reason.code === UNKNOWN_SETTING.code ? 404 : 400, {
          'x-clickhouse-exception-code': String(reason.code),
        });
        outgoing.end(`Code: ${reason.code}. DB::Exception: ${reason.name} is unknown. (${reason.type})\n`);
        return;
      }
      const isForm = body.length < URL_MAX_BYTES && body.includes('name="param_');
      if (isForm || [...url.searchParams.keys()].some((name) => name.startsWith('param_')))
        bound.push({ text: sql, isLogged: url.searchParams.get('log_queries') !== '0' });
      texts.push(inUrl ?? (body.length < TEXT_MAX_BYTES ? sql : ''));
      const asOld = sql
        .replaceAll('version()', `'${version}'`)
        .replaceAll('system.settings', `(SELECT * FROM system.settings WHERE name NOT IN (${hidden}))`);
      if (inUrl !== null) url.searchParams.set('query', asOld);
      const sent = inUrl === null && asOld !== sql ? Buffer.from(asOld, 'latin1') : body;
      const headers = { ...incoming.headers, 'content-length': String(sent.length) };
      delete headers['transfer-encoding'];
      const request = http.request(url, { agent, method: incoming.method ?? 'POST', headers });
      request.on('error', () => outgoing.destroy());
      request.on('response', (response) => {
        // It is no embedded store, and may keep the text of statements.
        const { [SERVER_NAME]: _, ...headers } = response.headers;
        outgoing.writeHead(response.statusCode ?? 500, { ...headers, [SERVER_NAME]: 'elsewhere' });
        response.on('error', () => outgoing.destroy());
        response.pipe(outgoing);
      });
      request.end(sent);
    };
    answer().catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    target,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    rejected,
    texts,
    bound,
    stop: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const UNKNOWN_SETTING = { code: 115, type: 'UNKNOWN_SETTING' };
const UNKNOWN_FUNCTION = { code: 46, type: 'UNKNOWN_FUNCTION' };
const ILLEGAL_TYPE = { code: 43, type: 'ILLEGAL_TYPE_OF_ARGUMENT' };

function reasonToReject(sql: string, urlNames: readonly string[], newer: Newer) {
  const setting =
    urlNames.find((name) => newer.settings.has(name)) ?? firstIn(sql, /\b\w+(?=\s*=)/g, newer.settings);
  if (setting !== undefined) return { name: setting, ...UNKNOWN_SETTING };
  const called = firstIn(sql, /\b\w+(?=\()/g, newer.functions);
  if (called !== undefined) return { name: called, ...UNKNOWN_FUNCTION };
  return NEWER_TYPE.test(sql) ? { name: 'Nullable(Tuple)', ...ILLEGAL_TYPE } : undefined;
}

function firstIn(sql: string, words: RegExp, names: ReadonlySet<string>): string | undefined {
  return (sql.match(words) ?? []).find((word) => names.has(word));
}

/** Asks the engine for its features that came after 24.8. */
async function newerThanOld(target: string): Promise<Newer> {
  const isNewer = (version: string) =>
    `(toUInt32OrZero(splitByChar('.', ${version})[1]), toUInt32OrZero(splitByChar('.', ${version})[2])) > (24, 8)`;
  const lines = async (sql: string) => {
    const response = await fetch(target, { method: 'POST', body: sql });
    return new Set((await response.text()).split('\n').filter((line) => line !== ''));
  };
  const settings = await lines(
    `SELECT change.name AS name FROM system.settings_changes ARRAY JOIN changes AS change
     GROUP BY name HAVING min(${isNewer('version')}) FORMAT TSV`,
  );
  for (const name of CHANGED_SINCE) settings.delete(name);
  const functions = await lines(
    `SELECT DISTINCT name FROM system.functions WHERE ${isNewer('introduced_in')} FORMAT TSV`,
  );
  return { settings, functions };
}
