import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { must } from '../../../infra/assert.ts';
import type { SearchConsoleRow } from '../../search-console.ts';

/** An answer instead of the right one; `hang` gives none, and `cut` breaks the connection. */
export type GoogleFault =
  | { readonly status: number; readonly body: unknown; readonly retryAfter?: string }
  | 'hang'
  | 'cut';

/** A request for rows, as it arrived. */
export interface AskedRows {
  readonly siteUrl: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export const CLIENT = {
  id: 'client.example',
  secret: 'the-client-secret',
  refreshToken: 'the-refresh-token',
};
export const ACCOUNT = 'reader@project.example';
const AUDIENCE = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/webmasters.readonly';
const QUERY = /^\/webmasters\/v3\/sites\/([^/]+)\/searchAnalytics\/query$/;

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
/** The private key of `ACCOUNT`. */
export const PRIVATE_KEY: string = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const PUBLIC_KEY = createPublicKey(keys.publicKey.export({ type: 'spki', format: 'pem' }));

/**
 * A server on the loopback that speaks as much of Google's documented formats as the client needs: the token endpoint with
 * both grants, and `searchAnalytics/query` with pages by `startRow`.
 */
export class GoogleServer {
  /** Its rows, by date, query and page. */
  rows: SearchConsoleRow[] = [];
  firstIncomplete: string | undefined;
  /** Answers to the next requests for tokens, in order; `undefined` for the right one. */
  readonly tokenFaults: (GoogleFault | undefined)[] = [];
  /** Answers to the next requests for rows. */
  readonly rowFaults: (GoogleFault | undefined)[] = [];
  readonly asked: AskedRows[] = [];
  readonly grants: string[] = [];
  #tokens = 0;
  /** Tokens up to this number are expired. */
  #expired = 0;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<GoogleServer> {
    const google = new GoogleServer();
    await new Promise<void>((resolve) => google.#server.listen(0, '127.0.0.1', resolve));
    return google;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Rejects every token that was given out. */
  expireTokens(): void {
    this.#expired = this.#tokens;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const [path = ''] = (request.url ?? '').split('?');
    const isToken = path === '/token';
    const asked = QUERY.exec(path)?.[1];
    if (asked !== undefined) this.asked.push({ siteUrl: decodeURIComponent(asked), body: JSON.parse(body) });
    const fault = (isToken ? this.tokenFaults : this.rowFaults).shift();
    if (fault === 'hang') return;
    if (fault === 'cut') {
      request.socket.destroy();
      return;
    }
    if (fault !== undefined) send(response, fault);
    else if (isToken && request.method === 'POST') send(response, this.#token(new URLSearchParams(body)));
    else if (asked !== undefined && request.method === 'POST')
      send(response, this.#page(request.headers.authorization ?? '', JSON.parse(body)));
    else send(response, { status: 404, body: { error: { code: 404, errors: [{ reason: 'notFound' }] } } });
  }

  #token(form: URLSearchParams): GoogleFault & object {
    this.grants.push(form.get('grant_type') ?? '');
    if (!isGranted(form))
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Token has been revoked.' } };
    this.#tokens += 1;
    return {
      status: 200,
      body: { access_token: `token-${this.#tokens}`, expires_in: 3599, token_type: 'Bearer', scope: SCOPE },
    };
  }

  #page(authorization: string, body: Readonly<Record<string, unknown>>): GoogleFault & object {
    const token = Number(/^Bearer token-(\d+)$/.exec(authorization)?.[1] ?? 0);
    if (token <= this.#expired || token > this.#tokens)
      return { status: 401, body: { error: { code: 401, errors: [{ reason: 'authError' }] } } };
    const { startDate, endDate, startRow, rowLimit, dimensions } = body;
    if (JSON.stringify(dimensions) !== '["date","query","page"]') return { status: 400, body: { error: {} } };
    const found = this.rows
      .filter(({ date }) => date >= String(startDate) && date <= String(endDate))
      .slice(Number(startRow), Number(startRow) + Number(rowLimit))
      .map(({ date, query, page, clicks, impressions, position }) => ({
        keys: [date, query, page],
        clicks,
        impressions,
        ctr: impressions === 0 ? 0 : clicks / impressions,
        position,
      }));
    const isIncomplete = this.firstIncomplete !== undefined && String(endDate) >= this.firstIncomplete;
    return {
      status: 200,
      body: {
        // Google leaves the field out of an empty answer.
        ...(found.length === 0 ? {} : { rows: found }),
        responseAggregationType: 'byPage',
        ...(isIncomplete ? { metadata: { first_incomplete_date: this.firstIncomplete } } : {}),
      },
    };
  }
}

function isGranted(form: URLSearchParams): boolean {
  if (form.get('grant_type') === 'refresh_token')
    return (
      form.get('client_id') === CLIENT.id &&
      form.get('client_secret') === CLIENT.secret &&
      form.get('refresh_token') === CLIENT.refreshToken
    );
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') return false;
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
  const signed = Buffer.from(`${head}.${claims}`);
  if (!verify('RSA-SHA256', signed, PUBLIC_KEY, Buffer.from(signature, 'base64url'))) return false;
  const { iss, aud, scope, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
  return iss === ACCOUNT && aud === AUDIENCE && scope === SCOPE && exp > Date.now() / 1000;
}

function send(response: ServerResponse, fault: GoogleFault & object): void {
  const { status, body, retryAfter } = fault;
  response.writeHead(status, {
    'content-type': 'application/json; charset=UTF-8',
    ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
  });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** The errors of Google's APIs. */
export function apiError(status: number, reason: string, retryAfter?: string): GoogleFault {
  const body = {
    error: { code: status, message: 'text', errors: [{ domain: 'global', reason, message: 'text' }] },
  };
  return { status, body, ...(retryAfter === undefined ? {} : { retryAfter }) };
}

/** Rows of consecutive days; some days have none, and one has more than fits a page. */
export function searchRows(days: readonly string[], count: (index: number) => number): SearchConsoleRow[] {
  return days.flatMap((date, index) =>
    Array.from({ length: count(index) }, (_, number) => ({
      date,
      query: must(['shoes', '東京', ''][number % 3], 'within'),
      page: `https://site.example/${number}#part`,
      clicks: number,
      impressions: number * 10 + index,
      position: 1 + number / 4,
    })),
  );
}
