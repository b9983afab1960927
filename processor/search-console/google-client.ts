import type { searchconsole_v1 } from '@googleapis/searchconsole';
import type { gaxios, OAuth2Client } from 'google-auth-library';
import { z } from 'zod';
import type { SearchConsoleRow, SearchCredentials } from '../search-console.ts';
import { GoogleError, googleErrorOf, UnansweredError } from './google-failure.ts';

const SCOPE = 'https://www.googleapis.com/auth/webmasters.readonly';
/** The largest answer, 25,000 rows, has some megabytes. */
const ANSWER_MAX_BYTES = 134_217_728;
const COUNT_MAX = 4_294_967_295;
const REDIRECTED = 'error';

const count = z.number().min(0).max(COUNT_MAX).transform(Math.round);
/** Rows by date, query and page. */
const answerSchema = z.object({
  rows: z
    .array(
      z.object({
        keys: z.tuple([z.iso.date(), z.string(), z.string()]),
        clicks: count,
        impressions: count,
        position: z.number().min(0),
      }),
    )
    .default([]),
  metadata: z
    .looseObject({
      firstIncompleteDate: z.iso.date().optional(),
      first_incomplete_date: z.iso.date().optional(),
    })
    .optional(),
});

export interface GoogleClientOptions {
  readonly credentials: SearchCredentials;
  /** Address of Google's APIs instead of Google's own addresses; empty for these. */
  readonly baseUrl: string;
  readonly timeoutMs: number;
  /** Aborts the current fetch. */
  readonly stopped: AbortSignal;
  /** Called for each request, including requests for tokens. */
  readonly onRequest: () => void;
}

/** The rows of a day, from a row on. */
export interface RowsRequest {
  readonly siteUrl: string;
  readonly day: string;
  readonly startRow: number;
  readonly rowLimit: number;
}

/** Rows of one request. From `firstIncompleteDate` on, days may still change. */
export interface RowsAnswer {
  readonly rows: readonly SearchConsoleRow[];
  readonly firstIncompleteDate: string | undefined;
}

/**
 * The Search Console API for one connection. It holds an access token, which the library renews when it expires, and
 * repeats nothing by itself but a request whose token was rejected early.
 */
export class GoogleClient {
  readonly #options: GoogleClientOptions;
  #session: Promise<Session> | undefined;

  constructor(options: GoogleClientOptions) {
    this.#options = options;
  }

  /** @throws {GoogleError} with the reason */
  async rows(request: RowsRequest): Promise<RowsAnswer> {
    const isNew = this.#session === undefined;
    try {
      return await this.#rows(request);
    } catch (error) {
      const failure = error instanceof GoogleError ? error : googleErrorOf(error);
      this.#session = undefined;
      if (isNew || failure.reason !== 'token-expired') throw failure;
    }
    try {
      return await this.#rows(request);
    } catch (error) {
      this.#session = undefined;
      throw error instanceof GoogleError ? error : googleErrorOf(error);
    }
  }

  async #rows({ siteUrl, day, startRow, rowLimit }: RowsRequest): Promise<RowsAnswer> {
    this.#session ??= openSession(this.#options);
    const { api, auth } = await this.#session;
    const { data } = await api.searchanalytics.query({
      auth,
      siteUrl,
      requestBody: {
        startDate: day,
        endDate: day,
        dimensions: ['date', 'query', 'page'],
        type: 'web',
        // Without it, the newest days would be missing until they are final.
        dataState: 'all',
        rowLimit,
        startRow,
      },
    });
    const parsed = answerSchema.safeParse(data);
    if (!parsed.success)
      throw new GoogleError('failed', 'an answer of another form', { cause: parsed.error });
    const { rows, metadata } = parsed.data;
    return {
      rows: rows.map(({ keys: [date, query, page], clicks, impressions, position }) => ({
        date,
        query,
        page,
        clicks,
        impressions,
        position,
      })),
      firstIncompleteDate: metadata?.firstIncompleteDate ?? metadata?.first_incomplete_date,
    };
  }
}

interface Session {
  readonly api: searchconsole_v1.Searchconsole;
  readonly auth: OAuth2Client;
}

/** Loads the library, which takes memory that a service without connections does not need. */
async function openSession(options: GoogleClientOptions): Promise<Session> {
  const [{ searchconsole }, library] = await Promise.all([
    import('@googleapis/searchconsole'),
    import('google-auth-library'),
  ]);
  const { credentials } = options;
  const transporter = transporterOf(library.gaxios, options);
  const auth =
    credentials.type === 'oauth'
      ? new library.OAuth2Client({
          clientId: credentials.clientId,
          clientSecret: credentials.clientSecret,
          transporter,
        })
      : new library.JWT({
          email: credentials.clientEmail,
          key: credentials.privateKey,
          scopes: [SCOPE],
          transporter,
        });
  if (credentials.type === 'oauth') auth.setCredentials({ refresh_token: credentials.refreshToken });
  return { api: searchconsole({ version: 'v1' }), auth };
}

/**
 * Sends the library's requests: to the configured address, with a time limit for the whole answer, and without the
 * library's own retries, which would hide failures from the state of the connection.
 */
function transporterOf(library: typeof gaxios, options: GoogleClientOptions): gaxios.Gaxios {
  const { baseUrl, timeoutMs, stopped, onRequest } = options;
  const transporter = new library.Gaxios({
    fetchImplementation: async (input, init) => {
      onRequest();
      const url = addressOf(input instanceof Request ? input.url : String(input), baseUrl);
      // Node 20 may free an `AbortSignal.timeout` that only `AbortSignal.any` refers to, and then never aborts.
      const over = new AbortController();
      const end = () => over.abort();
      const timer = setTimeout(end, timeoutMs);
      stopped.addEventListener('abort', end);
      if (stopped.aborted) end();
      try {
        const response = await fetch(url, { ...init, signal: over.signal, redirect: REDIRECTED });
        const bytes = await bytesOf(response);
        const { status, statusText, headers } = response;
        return new Response(status === 204 || status === 304 ? null : bytes, { status, statusText, headers });
      } catch (error) {
        throw new UnansweredError('Google did not answer', { cause: error });
      } finally {
        clearTimeout(timer);
        stopped.removeEventListener('abort', end);
      }
    },
  });
  transporter.interceptors.request.add({
    resolved: (config) => Promise.resolve({ ...config, retry: false, retryConfig: { retry: 0 } }),
  });
  return transporter;
}

async function bytesOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > ANSWER_MAX_BYTES) throw new UnansweredError('the answer is too long');
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** The same path at another address. */
function addressOf(url: string, baseUrl: string): string {
  if (baseUrl === '') return url;
  const { pathname, search } = new URL(url);
  return baseUrl.replace(/\/$/, '') + pathname + search;
}
