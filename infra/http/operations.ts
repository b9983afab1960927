import { JSON_TYPE } from './headers.ts';
import type { HttpServer, RequestHead } from './http.ts';
import { addStartPage } from './start-page.ts';
import { errorText } from './status.ts';

/** The readiness of a process for work, and the details to show. */
export interface Readiness {
  readonly ready: boolean;
  readonly shown: object;
}

export interface OperationsDeps {
  /** The text of `/metrics`: of this process, or of all that share its port. */
  readonly metrics: { readonly contentType: string; expose(): string | Promise<string> };
  readonly readiness: () => Readiness | Promise<Readiness>;
  /** True if the sender of a request may read the metrics and the details of readiness. */
  readonly mayRead: (head: RequestHead) => boolean;
}

type PlainAnswer = readonly [status: number, text: string, contentType: string];

const UNAUTHORIZED = errorText(
  401,
  'the metrics need the value of OPERATIONS_TOKEN, as `Authorization: Bearer …`',
);

/**
 * Adds `/healthz/live`, `/healthz/ready` (503 while not ready) and `/metrics` to a process, and the start page, which
 * lists them after earlier announcements. A sender without the right to read gets 401 from `/metrics`, and only the
 * status from `/healthz/ready`.
 */
export function addOperations(http: HttpServer, { metrics, readiness, mayRead }: OperationsDeps): void {
  const get = (pattern: string, answer: (isReader: boolean) => PlainAnswer | Promise<PlainAnswer>) =>
    http.route({
      method: 'get',
      pattern,
      bodyMaxBytes: 0,
      cors: undefined,
      readHead: mayRead,
      answer: async (isReader, _body, reply) => {
        const [status, text, contentType] = await answer(isReader);
        reply.send(status, text, [
          ['content-type', contentType],
          ['cache-control', 'no-store'],
          ...(status === 401 ? [['www-authenticate', 'Bearer'] as const] : []),
        ]);
      },
    });
  get('/healthz/live', () => [200, '{"status":"live"}', JSON_TYPE]);
  get('/healthz/ready', async (isReader) => {
    const { ready, shown } = await readiness();
    const details = isReader ? shown : {};
    return [
      ready ? 200 : 503,
      JSON.stringify({ status: ready ? 'ready' : 'not ready', ...details }),
      JSON_TYPE,
    ];
  });
  get('/metrics', async (isReader) =>
    isReader ? [200, await metrics.expose(), metrics.contentType] : [401, UNAUTHORIZED, JSON_TYPE],
  );
  http.announce({
    path: '/healthz/ready',
    title: 'Readiness',
    about: 'Whether the service is ready for work, and what it depends on.',
  });
  http.announce({ path: '/healthz/live', title: 'Liveness', about: 'Answers while the process runs.' });
  http.announce({
    path: '/metrics',
    title: 'Metrics',
    about: 'Figures of the processes that answer here, for Prometheus.',
  });
  addStartPage(http);
}
