import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * The fate of a request. These do not reach the server: `answer` sends an answer instead; `redirect` redirects to `location`; `hang` never
 * answers; `drop` resets the connection.
 *
 * The others are forwarded: `lose` then resets the connection without an answer; `stall` then never answers; `slow` waits `ms` first; `cut`
 * ends the answer in the middle of its body, or of its head if there is no body; `drip` sends the answer byte by byte, one each `ms`.
 */
export type Fault =
  | { readonly kind: 'answer'; readonly status: number; readonly code?: string }
  | {
      readonly kind: 'redirect';
      readonly location: string;
      readonly status?: number;
      readonly region?: string;
    }
  | { readonly kind: 'slow' | 'drip'; readonly ms: number }
  | { readonly kind: 'hang' | 'drop' | 'lose' | 'stall' | 'cut' };

/** A request that has reached the proxy. */
export interface ProxiedRequest {
  /** From 0, in order of arrival. */
  readonly number: number;
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
}

export interface FaultRule {
  /** Selects requests; by default all. */
  readonly when?: (request: ProxiedRequest) => boolean;
  /** The number of selected requests that get the fault; by default all. */
  readonly times?: number;
  readonly fault: Fault;
}

export interface LoggedRequest extends ProxiedRequest {
  readonly fault: Fault['kind'] | undefined;
  /** Status of the server's answer; undefined when the request was not forwarded or is not answered yet. */
  status: number | undefined;
}

/**
 * A proxy in front of an HTTP server that behaves like a faulty network or storage. toxiproxy is rejected: it is a
 * program of its own, and does not know HTTP, so it can neither answer nor choose requests.
 */
export interface FaultProxy {
  readonly endpoint: string;
  /** Every request so far. */
  readonly log: readonly LoggedRequest[];
  /** Connections opened so far. */
  readonly connections: number;
  /** Adds a rule. The first rule that matches a request is applied to it. Returns a function that removes the rule. */
  fail(rule: FaultRule): () => void;
  stop(): Promise<void>;
}

interface ProxiedAnswer {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/**
 * Starts a proxy in front of `target`, such as `http://127.0.0.1:9000`. Requests are forwarded whole and with their own
 * `Host` header, so that signatures stay valid. A connection takes one request, unless `keepsConnections`: a client
 * that retries on a reused connection would hide faults.
 */
export async function startFaultProxy(
  target: string,
  { keepsConnections = false }: { readonly keepsConnections?: boolean } = {},
): Promise<FaultProxy> {
  const log: LoggedRequest[] = [];
  const rules: { rule: FaultRule; left: number }[] = [];
  const agent = new http.Agent({ keepAlive: true });
  let connections = 0;

  const nextFault = (request: ProxiedRequest): Fault | undefined => {
    const matching = rules.find(({ rule, left }) => left > 0 && (rule.when?.(request) ?? true));
    if (matching !== undefined) matching.left -= 1;
    return matching?.rule.fault;
  };
  const server = http.createServer((incoming, outgoing) => {
    const { method = '', url = '' } = incoming;
    const request = { number: log.length, method, url };
    const fault = nextFault(request);
    const logged: LoggedRequest = { ...request, fault: fault?.kind, status: undefined };
    log.push(logged);
    outgoing.shouldKeepAlive = keepsConnections;
    const pass = async () => {
      const passed = await passOn(agent, target, incoming);
      logged.status = passed.status;
      return passed;
    };
    // The client notices by itself that the connection or the server is gone.
    answer(fault, pass, incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    log,
    get connections() {
      return connections;
    },
    fail: (rule) => {
      const entry = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
      rules.push(entry);
      return () => {
        entry.left = 0;
      };
    },
    stop: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  fault: Fault | undefined,
  pass: () => Promise<ProxiedAnswer>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  switch (fault?.kind) {
    case undefined:
      return send(outgoing, await pass());
    case 'answer':
      // A client that is still sending may not read an answer that comes earlier.
      await buffer(incoming);
      return send(outgoing, errorAnswer(fault.status, fault.code));
    case 'redirect':
      await buffer(incoming);
      return send(outgoing, redirectAnswer(fault.location, fault.status ?? 307, fault.region));
    case 'hang':
      return;
    case 'drop':
      incoming.socket.resetAndDestroy();
      return;
    case 'lose':
      await pass();
      incoming.socket.resetAndDestroy();
      return;
    case 'stall':
      await pass();
      return;
    case 'slow': {
      await new Promise((resolve) => setTimeout(resolve, fault.ms));
      return send(outgoing, await pass());
    }
    case 'cut': {
      const whole = wholeAnswer(await pass());
      incoming.socket.end(whole.subarray(0, middleOf(whole)));
      return;
    }
    case 'drip': {
      const whole = wholeAnswer(await pass());
      let sent = 0;
      const timer = setInterval(() => {
        incoming.socket.write(whole.subarray(sent, sent + 1));
        sent += 1;
        if (sent === whole.length) incoming.socket.end();
      }, fault.ms);
      incoming.socket.once('close', () => clearInterval(timer));
      return;
    }
  }
}

async function passOn(agent: http.Agent, target: string, incoming: IncomingMessage): Promise<ProxiedAnswer> {
  const body = await buffer(incoming);
  const { hostname, port } = new URL(target);
  const { method, url: path, rawHeaders } = incoming;
  // Expect: 100-continue is between client and proxy, and the body has arrived.
  const headers = withoutHeaders(rawHeaders, ['connection', 'keep-alive', 'expect', 'transfer-encoding']);
  return new Promise((resolve, reject) => {
    const request = http.request({ agent, hostname, port, method, path, headers });
    request.on('error', reject);
    request.on('response', (response) => {
      buffer(response).then(
        (bytes) =>
          resolve({
            status: response.statusCode ?? 0,
            headers: withoutHeaders(response.rawHeaders, [
              'connection',
              'keep-alive',
              'content-length',
              'transfer-encoding',
            ]),
            body: bytes,
          }),
        reject,
      );
    });
    request.end(body);
  });
}

function send(outgoing: ServerResponse, { status, headers, body }: ProxiedAnswer): void {
  outgoing.writeHead(status, [...headers, 'content-length', String(body.length)]);
  outgoing.end(body);
}

/** The bytes of an answer, to be written to a socket. */
function wholeAnswer({ status, headers, body }: ProxiedAnswer): Buffer {
  const lines = [`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  lines.push(`content-length: ${body.length}`, 'connection: close', '', '');
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), body]);
}

function middleOf(whole: Buffer): number {
  const bodyStart = whole.indexOf('\r\n\r\n') + 4;
  const hasBody = bodyStart < whole.length;
  return hasBody ? bodyStart + Math.floor((whole.length - bodyStart) / 2) : Math.floor(bodyStart / 2);
}

function errorAnswer(status: number, code: string | undefined): ProxiedAnswer {
  const body = code === undefined ? '' : `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`;
  return { status, headers: ['content-type', 'application/xml'], body: Buffer.from(body) };
}

function redirectAnswer(location: string, status: number, region: string | undefined): ProxiedAnswer {
  const hint = region === undefined ? [] : ['x-amz-bucket-region', region];
  return { status, headers: ['location', location, ...hint], body: Buffer.alloc(0) };
}

/** A list of alternating names and values without the named headers. */
function withoutHeaders(raw: readonly string[], names: readonly string[]): string[] {
  return raw.filter((_, at) => !names.includes((raw[at - (at % 2)] ?? '').toLowerCase()));
}
