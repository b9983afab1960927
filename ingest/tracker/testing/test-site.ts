import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { projectRoot } from '../../../infra/root.ts';

/** A received body of `POST /track`. */
export interface RecordedCall {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly atMs: number;
}

/** The recording endpoint's answer to a call. */
export interface RecordedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Sent instead of JSON. */
  readonly text?: string;
  /** The answer waits for this promise. */
  readonly after?: Promise<unknown>;
  /** Records the call and then cuts the connection instead. */
  readonly isCut?: boolean;
}

/** Pages for a browser, the built script, and an endpoint that records the script's calls. */
export interface TestSite {
  /** The URL of the pages. */
  readonly url: string;
  /** The same pages under another host name. */
  readonly otherUrl: string;
  /** The URL of the recording endpoint, on another origin than the pages; each `reset` changes its path. */
  readonly apiUrl: string;
  /** Recorded calls, in order of arrival. */
  readonly calls: RecordedCall[];
  /** The number of requests for the site's settings, the answer (undefined is a failure), and a promise that the answer waits for. */
  readonly settings: {
    requestCount: number;
    answer: object | undefined;
    after: Promise<unknown> | undefined;
  };
  /** Serves this HTML at a path. */
  show(path: string, html: string, headers?: Readonly<Record<string, string>>): void;
  /** The answers to the next calls, in order; afterwards calls are answered with 200 again. */
  answerNext(...answers: readonly RecordedAnswer[]): void;
  /** Clears calls and answers. Calls of earlier pages are not recorded any more. */
  reset(): void;
  stop(): Promise<void>;
}

// Tests that start servers begin with a build.
const BUILT_SCRIPT = join(projectRoot, 'dist/ingest/tracker/script.js');

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': '*',
  'access-control-expose-headers': 'retry-after',
};
const IDENTITY = { deviceId: 'device-1', sessionId: 'session-1' };

/** Starts the site on a free port. */
export async function startTestSite(): Promise<TestSite> {
  const script = readFileSync(BUILT_SCRIPT);
  const pages = new Map<string, { html: string; headers: Readonly<Record<string, string>> }>();
  const calls: RecordedCall[] = [];
  const settings: TestSite['settings'] = { requestCount: 0, answer: undefined, after: undefined };
  let answers: RecordedAnswer[] = [];
  let resetCount = 0;
  const apiPath = () => `/api/${resetCount}`;

  const record = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const headers = request.headers as Record<string, string>;
    calls.push({ ...body, headers, atMs: Date.now() });
    const answer = answers.shift() ?? {};
    await answer.after;
    if (answer.isCut) {
      response.destroy();
      return;
    }
    response.writeHead(answer.status ?? 200, { ...CORS, ...answer.headers });
    response.end(answer.text ?? JSON.stringify(answer.body ?? IDENTITY));
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    if (request.method === 'OPTIONS') response.writeHead(204, CORS).end();
    else if ([`${apiPath()}/track`, `${apiPath()}/t`].includes(pathname)) await record(request, response);
    else if (pathname.endsWith('/device-id'))
      response.writeHead(200, CORS).end(JSON.stringify(LOOKED_UP_IDENTITY));
    else if (pathname === `${apiPath()}/config/tracking`) {
      settings.requestCount += 1;
      await settings.after;
      response.writeHead(settings.answer === undefined ? 503 : 200, CORS);
      response.end(JSON.stringify(settings.answer ?? { error: 'away' }));
    } else if (pathname.endsWith('/script.js'))
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    else if (pathname === '/favicon.ico') response.writeHead(204).end();
    else {
      const page = pages.get(pathname);
      response.writeHead(page === undefined ? 404 : 200, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        ...page?.headers,
      });
      response.end(page?.html ?? 'nothing');
    }
  };

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    otherUrl: `http://localhost:${port}`,
    get apiUrl() {
      return `http://localhost:${port}${apiPath()}`;
    },
    calls,
    settings,
    show: (path, html, headers = {}) => void pages.set(path, { html, headers }),
    answerNext: (...next) => {
      answers = [...next];
    },
    reset: () => {
      resetCount += 1;
      calls.length = 0;
      answers = [];
      settings.requestCount = 0;
      settings.answer = { screenViews: true };
      settings.after = undefined;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The answer of `GET /track/device-id`, which differs from the answer to a call. */
export const LOOKED_UP_IDENTITY = {
  deviceId: 'asked-device',
  sessionId: 'asked-session',
  message: 'new session',
};
