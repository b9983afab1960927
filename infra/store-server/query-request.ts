import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { DEFAULT_MAX_QUERY_SIZE } from './engine.ts';
import { ClickHouseException, exception } from './exceptions.ts';
import { sqlString } from './statement.ts';

/** The parts of a request besides its statement and rows. */
export interface QueryRequest {
  readonly queryId: string;
  readonly database: string | undefined;
  readonly defaultFormat: string;
  /** GET is read-only. */
  readonly isReadonly: boolean;
  /** True if it comes from the user that can only read. */
  readonly isReader: boolean;
  readonly waitsForEnd: boolean;
  readonly isGzipWanted: boolean;
  /** The statement, or its head, from the URL. */
  readonly urlQuery: string;
  readonly fields: QueryFields;
}

/** Settings, and parameters by name without their prefix. */
export interface QueryFields {
  readonly settings: Map<string, string>;
  readonly parameters: Map<string, string>;
}

// Fields of the protocol that are not settings. Those without an effect here are accepted.
const PROTOCOL = new Set([
  ...['query', 'query_id', 'database', 'default_format', 'user', 'password', 'quota_key', 'stacktrace'],
  ...[
    'wait_end_of_query',
    'buffer_size',
    'client_protocol_version',
    'close_session',
    'session_timeout',
    'session_check',
  ],
]);
const UNSUPPORTED: Readonly<Record<string, string>> = {
  session_id: 'Sessions over HTTP are not supported by the embedded store: each request stands alone.',
  role: 'Roles are not supported by the embedded store.',
  compress:
    'The native compression of HTTP bodies is not supported by the embedded store: use Accept-Encoding.',
  decompress:
    'The native compression of HTTP bodies is not supported by the embedded store: use Content-Encoding.',
};
const SETTING_NAME = /^[A-Za-z_]\w*$/;
const FORMAT_NAME = /^\w+$/;
const TABLE_NAME = /^[A-Za-z_]\w*$/;

/** Reads the head of a request; throws a `ClickHouseException` for unsupported or invalid fields. */
export function readQueryRequest(
  request: IncomingMessage,
  url: URLSearchParams,
  user: 'writer' | 'reader',
): QueryRequest {
  const fields: QueryFields = { settings: new Map(), parameters: new Map() };
  for (const [name, value] of url) if (!PROTOCOL.has(name)) addField(fields, name, value);
  const format = url.get('default_format') ?? headerOf(request, 'x-clickhouse-format') ?? 'TabSeparated';
  if (!FORMAT_NAME.test(format)) throw exception('UNKNOWN_FORMAT', `Unknown format ${format}.`);
  const isGzipAccepted = /\bgzip\b/.test(headerOf(request, 'accept-encoding') ?? '');
  return {
    queryId: url.get('query_id') || randomUUID(),
    database: url.get('database') || headerOf(request, 'x-clickhouse-database') || undefined,
    defaultFormat: format,
    isReadonly: request.method !== 'POST' || user === 'reader',
    isReader: user === 'reader',
    waitsForEnd: isOn(url.get('wait_end_of_query')),
    isGzipWanted: isGzipAccepted && isOn(fields.settings.get('enable_http_compression')),
    urlQuery: (url.get('query') ?? '').trimEnd(),
    fields,
  };
}

/** Adds a field of the URL or of a form to the parameters or the settings. */
export function addField({ settings, parameters }: QueryFields, name: string, value: string): void {
  const isUnsupported =
    name === 'compress' || name === 'decompress' ? isOn(value) : Object.hasOwn(UNSUPPORTED, name);
  if (isUnsupported) throw exception('NOT_IMPLEMENTED', UNSUPPORTED[name] ?? name);
  if (name === 'compress' || name === 'decompress') return;
  if (name.startsWith('param_')) {
    const bare = name.slice('param_'.length);
    if (!/^\w+$/.test(bare))
      throw exception('BAD_ARGUMENTS', 'A parameter name must consist of word characters.');
    parameters.set(bare, value);
    return;
  }
  if (!SETTING_NAME.test(name))
    throw new ClickHouseException(115, 'UNKNOWN_SETTING', `Unknown setting '${name}'.`);
  settings.set(name, value);
}

/** Takes the definition of the external table of this name out of a form. These fields look like settings and are none. */
export function takeTableDefinition(
  { settings }: QueryFields,
  name: string,
): { readonly name: string; readonly format: string; readonly structure: string } {
  if (!TABLE_NAME.test(name))
    throw exception('BAD_ARGUMENTS', `${name} cannot be the name of an external table.`);
  const take = (suffix: string) => {
    const value = settings.get(`${name}_${suffix}`);
    settings.delete(`${name}_${suffix}`);
    return value;
  };
  const [structure, format] = [take('structure'), take('format') ?? 'TabSeparated'];
  if (structure === undefined)
    throw exception('BAD_ARGUMENTS', `${name}_structure is missing: the columns of an external table.`);
  if (!FORMAT_NAME.test(format)) throw exception('UNKNOWN_FORMAT', `Unknown format ${format}.`);
  return { name, format, structure };
}

/**
 * The statement that prepares a connection. The mark, which identifies the query in the engine's process list, is put
 * in front of the client's own log comment.
 */
export function preparation({ fields, isReadonly, isReader }: QueryRequest, mark: string): string {
  const { settings, parameters } = fields;
  const comment = settings.get('log_comment');
  const assignments = [
    `log_comment = ${sqlString(comment === undefined ? mark : `${mark} ${comment}`)}`,
    `max_query_size = ${sqlString(settings.get('max_query_size') ?? DEFAULT_MAX_QUERY_SIZE)}`,
  ];
  for (const [name, value] of parameters) assignments.push(`param_${name} = ${sqlString(value)}`);
  for (const [name, value] of settings) {
    if (name !== 'log_comment' && name !== 'max_query_size' && name !== 'readonly')
      assignments.push(`${name} = ${sqlString(value)}`);
  }
  const readonly = isReader ? undefined : settings.get('readonly');
  if (readonly !== undefined) assignments.push(`readonly = ${sqlString(readonly)}`);
  else if (isReadonly) assignments.push('readonly = 2');
  return `SET ${assignments.join(', ')}`;
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

function isOn(value: string | null | undefined): boolean {
  return value === '1' || value === 'true';
}
