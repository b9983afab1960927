import { must } from '../../../infra/assert.ts';
import type { CapturedExample, ShownRequest } from '../../../query/openapi/examples/example.ts';
import type { Operation } from '../../../query/openapi/operation.ts';
import { waitFor } from '../../cluster/child-process.ts';
import type { Credentials } from '../../cluster/client.ts';
import type { StableAnswers } from './stable.ts';

const WAIT_MAX_MS = 60_000;
const TEXT_LINES_MAX = 3;
/** A visitor at home in Berlin. */
const VISITOR = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
  'service-client-ip': '141.20.1.1',
};

interface ReadAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly contentType: string;
  readonly bytes: Buffer;
}

export interface CaptureParts {
  readonly url: string;
  readonly credentials: Credentials;
  readonly operations: readonly Pick<Operation, 'method' | 'pattern' | 'access'>[];
  readonly stable: StableAnswers;
  /** Values that requests name. */
  readonly names: Readonly<Record<string, string>>;
}

/** Sends the requests of the documentation, and keeps the answers. */
export class Capture {
  readonly #parts: CaptureParts;
  readonly #names: Map<string, string>;
  readonly #captured = new Map<string, readonly CapturedExample[]>();
  readonly #errors = new Map<string, unknown>();
  #cookie = '';

  constructor(parts: CaptureParts) {
    this.#parts = parts;
    this.#names = new Map(Object.entries({ projectId: 'demo', ...parts.names }));
  }

  /** The errors that were captured, by status. */
  get errors(): ReadonlyMap<string, unknown> {
    return this.#errors;
  }

  /** The captured answers, by operation. */
  get captured(): ReadonlyMap<string, readonly CapturedExample[]> {
    return this.#captured;
  }

  async sendAll(requests: readonly ShownRequest[]): Promise<void> {
    for (const request of requests) {
      const captured = await this.#send(request);
      if (request.isShown === false) continue;
      const before = this.#captured.get(request.operation) ?? [];
      this.#captured.set(request.operation, [...before, captured]);
    }
  }

  async sendErrors(requests: readonly ShownRequest[]): Promise<void> {
    for (const request of requests) {
      const { status, answer } = await this.#send(request);
      this.#errors.set(String(status), answer);
    }
  }

  /** Throws if the answer has another status than the one that the request shows. */
  async #send(request: ShownRequest): Promise<CapturedExample> {
    const { operation, title = 'example', keep = {}, until } = request;
    const path = this.#pathOf(request);
    const query = this.#filled(request.query ?? {}) as NonNullable<ShownRequest['query']>;
    const body = this.#filled(request.body);
    const exchange = () => this.#exchange(request, { path, query, body });
    await Promise.all(Array.from({ length: request.flood ?? 0 }, exchange));
    let answered = await exchange();
    const isThere = () => until === undefined || at(jsonOf(answered), until.at) === until.is;
    if (!isThere()) {
      await waitFor(
        `${operation}: ${until?.at}`,
        async () => {
          answered = await exchange();
          return isThere();
        },
        WAIT_MAX_MS,
      );
    }
    const { status = 200 } = request;
    if (answered.status !== status)
      throw new Error(`${operation}: ${answered.status} ${answered.bytes.toString('utf8').slice(0, 500)}`);
    this.#keepIdOf(operation, jsonOf(answered));
    for (const [name, place] of Object.entries(keep)) this.#names.set(name, found(answered, place));
    this.#cookie = answered.headers.get('set-cookie')?.split(';')[0] ?? this.#cookie;
    const place = `${operation} ${title} ${status}`;
    const { stable } = this.#parts;
    return {
      title,
      path: stable.json(path, place) as CapturedExample['path'],
      query: stable.json(query, place) as CapturedExample['query'],
      ...(body === undefined ? {} : { body: stable.json(body, place) }),
      status,
      ...(answered.bytes.length === 0
        ? {}
        : { answer: stable.json(shownOf(answered, request), place, request.rows) }),
    };
  }

  #pathOf({ operation, path = {} }: ShownRequest): Readonly<Record<string, string>> {
    const names = [...operation.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
    return Object.fromEntries(
      names.map((name) => [name, String(this.#filled(path[name] ?? this.#nameOf(name)))]),
    );
  }

  #nameOf(name: string): string {
    return must(this.#names.get(name), `no answer so far has {${name}}`);
  }

  /** The value with each `{name}` replaced. */
  #filled(value: unknown): unknown {
    if (typeof value === 'string')
      return value.replace(/\{(\w+)\}/g, (_, name: string) => this.#nameOf(name));
    if (Array.isArray(value)) return value.map((one) => this.#filled(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, this.#filled(inner)]));
  }

  /** Remembers the id of a record, or of a list's first, for operations on one of them. */
  #keepIdOf(operation: string, answer: unknown): void {
    const [, pattern = ''] = operation.split(' ');
    const one = this.#parts.operations.find(({ pattern: other }) => other.startsWith(`${pattern}/:`));
    const name = /^\/:(\w+)/.exec(one?.pattern.slice(pattern.length) ?? '')?.[1];
    const id = ['data.id', 'data.0.id', '0.id'].map((place) => at(answer, place)).find(isText);
    if (name !== undefined && name !== 'projectId' && id !== undefined) this.#names.set(name, id);
  }

  async #exchange(
    { operation, headers = {} }: ShownRequest,
    { path, query, body }: Pick<CapturedExample, 'path' | 'query'> & { readonly body: unknown },
  ): Promise<ReadAnswer> {
    const [method = '', pattern = ''] = operation.split(' ');
    const written = pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    );
    const search = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
    const given = {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...this.#credentials(operation),
      ...(this.#filled(headers) as typeof headers),
    };
    const response = await fetch(this.#parts.url + written + search, {
      method: method.toUpperCase(),
      headers: Object.entries(given).filter(([, value]) => value !== ''),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const contentType = response.headers.get('content-type') ?? '';
    const isStream = contentType.startsWith('text/event-stream');
    const bytes = isStream ? await beginningOf(response) : Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: response.headers, contentType, bytes };
  }

  #credentials(operation: string): Readonly<Record<string, string>> {
    const { operations, credentials } = this.#parts;
    const described = operations.find(({ method, pattern }) => `${method} ${pattern}` === operation);
    const { access } = must(described, `there is no ${operation}`);
    const { root, write } = credentials.clients;
    switch (access) {
      case 'sender':
        return { 'service-client-id': write.id, 'service-client-secret': write.secret, ...VISITOR };
      case 'root':
      case 'read':
      case 'viewer':
        return { 'service-client-id': root.id, 'service-client-secret': root.secret };
      case 'signedIn':
      case 'public':
        return { cookie: this.#cookie };
      case 'newcomer':
      case 'operator':
        return {};
    }
  }
}

/** A stream up to its first event. */
async function beginningOf(response: Response): Promise<Buffer> {
  let read = '';
  for await (const chunk of must(response.body, 'a stream')) {
    read += Buffer.from(chunk).toString('utf8');
    if (/^data: .*\n\n/m.test(read)) break;
  }
  return Buffer.from(read);
}

/** The answer as it is shown: of JSON and lists some fields, of other texts the beginning. */
function shownOf(answered: ReadAnswer, { show }: ShownRequest): unknown {
  const json = jsonOf(answered);
  if (json !== undefined) {
    const fields = Object.entries(json as object);
    return show === undefined ? json : Object.fromEntries(fields.filter(([name]) => show.includes(name)));
  }
  const text = answered.bytes.toString('latin1');
  if (text.startsWith('PAR1')) return `${text.slice(0, 4)} … ${text.slice(-4)}`;
  // A program or a page of the build would change with each line of its source.
  if (/^(?:text\/(?:html|javascript)|image\/svg)/.test(answered.contentType))
    return `${/^(?:\s|\/\*.*?\*\/)*([^{>]*[{>])/s.exec(text)?.[1] ?? ''}…`;
  const lines = answered.bytes.toString('utf8').split(/(?<=\n)/);
  if (answered.contentType.startsWith('text/event-stream')) return lines.join('');
  const shown = lines.filter((line) => show?.some((beginning) => line.startsWith(beginning)) ?? true);
  return shown.slice(0, TEXT_LINES_MAX).join('');
}

function jsonOf({ contentType, bytes }: ReadAnswer): unknown {
  return contentType.startsWith('application/json') ? JSON.parse(bytes.toString('utf8')) : undefined;
}

function found(answered: ReadAnswer, place: string | RegExp): string {
  if (typeof place !== 'string')
    return must(place.exec(answered.bytes.toString('utf8'))?.[1], `an answer without ${place}`);
  return String(must(at(jsonOf(answered), place), `an answer without ${place}`));
}

/** The value at a place such as `data.0.id`. */
function at(json: unknown, place: string): unknown {
  return place
    .split('.')
    .reduce((value, name) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[name], json);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
