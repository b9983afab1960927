import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { projectRoot } from '../../../infra/root.ts';

/** A body of `POST /track` as it came in. */
export interface RecordedCall {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly atMs: number;
}

/** How the recording endpoint answers a call. */
export interface RecordedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Answered instead of JSON. */
  readonly text?: string;
  /** The answer is given when this resolves. */
  readonly after?: Promise<unknown>;
  /** The connection is cut instead, after the call was recorded. */
  readonly isCut?: boolean;
}

/** Pages for a browser, the built script, and an endpoint that records what the script sends. */
export interface TestSite {
  /** Where the pages are. */
  readonly url: string;
  /** The same under another host name. */
  readonly otherUrl: string;
  /** Where the recording endpoint is, another origin than that of the pages; another path after each `reset`. */
  readonly apiUrl: string;
  /** What came in, in order. */
  readonly calls: RecordedCall[];
  /** How often the settings of a site were asked for, what is answered (undefined is a failure), and after what. */
  readonly settings: { asked: number; answer: object | undefined; after: Promise<unknown> | undefined };
  /** Shows this HTML at a path. */
  show(path: string, html: string, headers?: Readonly<Record<string, string>>): void;
  /** Answers the next calls so, one after the other; then with 200 again. */
  answerNext(...answers: readonly RecordedAnswer[]): void;
  /** Forgets what came in and how to answer; what pages from before still send is not recorded. */
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
  const settings: TestSite['settings'] = { asked: 0, answer: undefined, after: undefined };
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
      response.writeHead(200, CORS).end(JSON.stringify(ASKED_IDENTITY));
    else if (pathname === `${apiPath()}/config/tracking`) {
      settings.asked += 1;
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
      settings.asked = 0;
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

/** What `GET /track/device-id` answers; told apart from what a call is answered. */
export const ASKED_IDENTITY = {
  deviceId: 'asked-device',
  sessionId: 'asked-session',
  message: 'new session',
};
