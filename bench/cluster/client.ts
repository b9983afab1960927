import { Agent, request } from 'node:http';
import { z } from 'zod';

/** A status, headers, and a body, which is JSON in every answer of the service. */
export interface Answer {
  readonly status: number;
  /** Seconds that the service asks to wait; 0 when it does not. */
  readonly retryAfterS: number;
  /** `server-timing` as sent; absent without the header. */
  readonly serverTiming?: string;
  readonly body: unknown;
}

export interface Credential {
  readonly id: string;
  readonly secret: string;
}

const credential = z.object({ id: z.string(), secret: z.string() });

/** `DATA_DIR/credentials.json`, as the first start writes it. */
export const credentialsSchema = z.object({
  baseUrl: z.string(),
  projectId: z.string(),
  teamId: z.string(),
  clients: z.object({ root: credential, read: credential, write: credential }),
});
export type Credentials = z.output<typeof credentialsSchema>;

const TIMEOUT_MS = 15_000;

/** HTTP over kept connections. It does not repeat a request that was sent: the caller decides on a failure. */
export class Client {
  readonly #agent: Agent;
  readonly #timeoutMs: number;

  constructor(connectionsMax: number, timeoutMs = TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connectionsMax });
  }

  get(url: string, credential: Credential): Promise<Answer> {
    return this.exchange('GET', url, headersOf(credential), '');
  }

  post(
    url: string,
    credential: Credential,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<Answer> {
    const sent = { ...headersOf(credential), 'content-type': 'application/json', ...headers };
    return this.exchange('POST', url, sent, Buffer.from(body));
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Rejects when the connection fails or no answer comes in time; the request may have arrived or not. */
  exchange(
    method: string,
    url: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array | '',
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        url,
        { method, headers: { ...headers, ...lengthOf(body) }, agent: this.#agent, timeout: this.#timeoutMs },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.once('error', reject);
          incoming.once('end', () => {
            const retryAfterS = Number(incoming.headers['retry-after'] ?? 0);
            const text = Buffer.concat(chunks).toString('utf8');
            const timing = incoming.headers['server-timing'];
            resolve({
              status: incoming.statusCode ?? 0,
              retryAfterS,
              ...(typeof timing === 'string' ? { serverTiming: timing } : {}),
              body: parsed(text),
            });
          });
        },
      );
      outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer within ${this.#timeoutMs} ms`)));
      outgoing.once('error', (error: NodeJS.ErrnoException) => {
        // The server closed the kept connection before or while it was reused, so it never read the request.
        const isUnheard =
          method === 'GET' &&
          outgoing.reusedSocket &&
          (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        if (isUnheard) this.exchange(method, url, headers, body).then(resolve, reject);
        else reject(error);
      });
      outgoing.end(body);
    });
  }
}

/** The `message` of an error answer, or the status where there is none. */
export function rejectOf(answer: Answer): string {
  const { body } = answer;
  const message = typeof body === 'object' && body !== null && 'message' in body ? String(body.message) : '';
  return `${answer.status}${message === '' ? '' : ` ${message}`}`;
}

function lengthOf(body: Uint8Array | ''): Record<string, string> {
  return body === '' ? {} : { 'content-length': String(body.length) };
}

function headersOf({ id, secret }: Credential): Record<string, string> {
  return { 'service-client-id': id, 'service-client-secret': secret };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
