import { request } from 'node:http';

/** The headers that a page of the service itself sends over TLS. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' } as const;

export interface BrowserAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
  /** The `Set-Cookie` headers. */
  readonly cookies: readonly string[];
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface BrowserRequest {
  readonly body?: unknown;
  /** Default: the headers of a page of the service. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A browser as far as cookies are concerned: keeps the cookies of `Set-Cookie` and sends them back. */
export class CookieBrowser {
  readonly #baseUrl: string;
  readonly #jar: Map<string, string>;

  constructor(baseUrl: string, jar: ReadonlyMap<string, string> = new Map()) {
    this.#baseUrl = baseUrl;
    this.#jar = new Map(jar);
  }

  /** The value of a cookie; empty without one. */
  cookie(name: string): string {
    return this.#jar.get(name) ?? '';
  }

  /** The same cookies at another process. */
  at(baseUrl: string): CookieBrowser {
    return new CookieBrowser(baseUrl, this.#jar);
  }

  ask(
    method: string,
    path: string,
    { body, headers = SAME_ORIGIN }: BrowserRequest = {},
  ): Promise<BrowserAnswer> {
    const bytes = body === undefined ? undefined : JSON.stringify(body);
    const cookie = [...this.#jar].map(([name, value]) => `${name}=${value}`).join('; ');
    return new Promise((resolve, reject) => {
      const outgoing = request(this.#baseUrl + path, {
        method,
        headers: {
          ...(cookie === '' ? {} : { cookie }),
          ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
      });
      outgoing.once('response', async (incoming) => {
        let text = '';
        for await (const chunk of incoming.setEncoding('utf8')) text += chunk;
        const cookies = incoming.headers['set-cookie'] ?? [];
        for (const line of cookies) this.#keep(line);
        const json: unknown = text.startsWith('{') ? JSON.parse(text) : undefined;
        resolve({ status: incoming.statusCode ?? 0, text, json, cookies, headers: incoming.headers });
      });
      outgoing.once('error', reject);
      outgoing.end(bytes);
    });
  }

  async statusOf(method: string, path: string, sent?: BrowserRequest): Promise<number> {
    return (await this.ask(method, path, sent)).status;
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '') this.#jar.delete(name);
    else this.#jar.set(name, value);
  }
}
