import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * What happens to a request. `answer`: it is answered in place of the server, which never sees it. `redirect`: likewise,
 * to `location`. `hang`: it is not answered and not passed on. `drop`: likewise, and the connection is reset.
 * The others are passed on: `lose`: then the connection is reset without an answer; `stall`: then no answer ever comes;
 * `slow`: after `ms`; `cut`: the answer ends in its middle, or in its head where it has no body; `drip`: the answer comes
 * byte by byte, one each `ms`.
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

/** A request that came to the proxy. */
export interface ProxiedRequest {
  /** From 0, in the order in which they came. */
  readonly number: number;
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
}

export interface FaultRule {
  /** Which requests; all unless given. */
  readonly when?: (request: ProxiedRequest) => boolean;
  /** How many of those; all unless given. */
  readonly times?: number;
  readonly fault: Fault;
}

export interface LoggedRequest extends ProxiedRequest {
  readonly fault: Fault['kind'] | undefined;
  /** Of the server's answer; undefined when the request was not passed on, or is not answered yet. */
  status: number | undefined;
}

/** A proxy in front of an HTTP server, which can do what networks and storages do. */
export interface FaultProxy {
  readonly endpoint: string;
  /** Every request so far. */
  readonly log: readonly LoggedRequest[];
  /** Connections that were opened so far. */
  readonly connections: number;
  /** Adds a rule: of those that hold for a request, the first one added takes it. Answers what takes the rule back. */
  fail(rule: FaultRule): () => void;
  stop(): Promise<void>;
}

interface Passed {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/**
 * Starts a proxy in front of `target`, an address such as `http://127.0.0.1:9000`. Requests are passed on whole, with the
 * header `Host` that they came with, so that signatures hold. A connection takes one request, unless `keepsConnections`:
 * else a client that tries again on a connection of before would hide faults.
 */
export async function startFaultProxy(
  target: string,
  { keepsConnections = false }: { readonly keepsConnections?: boolean } = {},
): Promise<FaultProxy> {
  const log: LoggedRequest[] = [];
  const rules: { rule: FaultRule; left: number }[] = [];
  const agent = new http.Agent({ keepAlive: true });
  let connections = 0;

  const takeFault = (request: ProxiedRequest): Fault | undefined => {
    const taken = rules.find(({ rule, left }) => left > 0 && (rule.when?.(request) ?? true));
    if (taken !== undefined) taken.left -= 1;
    return taken?.rule.fault;
  };
  const server = http.createServer((incoming, outgoing) => {
    const { method = '', url = '' } = incoming;
    const request = { number: log.length, method, url };
    const fault = takeFault(request);
    const logged: LoggedRequest = { ...request, fault: fault?.kind, status: undefined };
    log.push(logged);
    outgoing.shouldKeepAlive = keepsConnections;
    const pass = async () => {
      const passed = await passOn(agent, target, incoming);
      logged.status = passed.status;
      return passed;
    };
    // A client that is gone, or a server that is away, is for the client to notice.
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
  pass: () => Promise<Passed>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  switch (fault?.kind) {
    case undefined:
      return send(outgoing, await pass());
    case 'answer':
      // Whoever is still sending may not read what comes before the end of it.
      await buffer(incoming);
      return send(outgoing, reject(fault.status, fault.code));
    case 'redirect':
      await buffer(incoming);
      return send(outgoing, redirect(fault.location, fault.status ?? 307, fault.region));
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

async function passOn(agent: http.Agent, target: string, incoming: IncomingMessage): Promise<Passed> {
  const body = await buffer(incoming);
  const { hostname, port } = new URL(target);
  const { method, url: path, rawHeaders } = incoming;
  // Asking whether the body is welcome is between the client and us: it has come.
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

function send(outgoing: ServerResponse, { status, headers, body }: Passed): void {
  outgoing.writeHead(status, [...headers, 'content-length', String(body.length)]);
  outgoing.end(body);
}

/** The bytes of an answer, to be sent by hand. */
function wholeAnswer({ status, headers, body }: Passed): Buffer {
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

function reject(status: number, code: string | undefined): Passed {
  const body = code === undefined ? '' : `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`;
  return { status, headers: ['content-type', 'application/xml'], body: Buffer.from(body) };
}

function redirect(location: string, status: number, region: string | undefined): Passed {
  const hint = region === undefined ? [] : ['x-amz-bucket-region', region];
  return { status, headers: ['location', location, ...hint], body: Buffer.alloc(0) };
}

/** Names and values that alternate, without those of the named headers. */
function withoutHeaders(raw: readonly string[], names: readonly string[]): string[] {
  return raw.filter((_, at) => !names.includes((raw[at - (at % 2)] ?? '').toLowerCase()));
}
