import type { Metrics } from '../metrics.ts';
import { JSON_TYPE } from './headers.ts';
import type { HttpServer, RequestHead } from './http.ts';
import { addStartPage } from './start-page.ts';
import { errorText } from './status.ts';

/** Whether a process is ready for work, and the details to show. */
export interface Readiness {
  readonly ready: boolean;
  readonly shown: object;
}

export interface OperationsDeps {
  readonly metrics: Metrics;
  readonly readiness: () => Readiness;
  /** Whether the sender of a request may read the metrics and the details of readiness. */
  readonly mayRead: (head: RequestHead) => boolean;
}

type PlainAnswer = readonly [status: number, text: string, contentType: string];

const UNAUTHORIZED = errorText(
  401,
  'the metrics need the value of OPERATIONS_TOKEN, as `Authorization: Bearer …`',
);

/**
 * Adds `/healthz/live`, `/healthz/ready` (503 while not ready) and `/metrics` to a process, and the page at `/`, which
 * lists them behind what was announced before. A sender that may not read gets 401 from `/metrics`, and from
 * `/healthz/ready` only whether the process is ready.
 */
export function addOperations(http: HttpServer, { metrics, readiness, mayRead }: OperationsDeps): void {
  const get = (pattern: string, answer: (isReader: boolean) => PlainAnswer) =>
    http.route({
      method: 'get',
      pattern,
      bodyMaxBytes: 0,
      cors: undefined,
      readHead: mayRead,
      answer: (isReader, _body, reply) => {
        const [status, text, contentType] = answer(isReader);
        reply.send(status, text, [
          ['content-type', contentType],
          ['cache-control', 'no-store'],
          ...(status === 401 ? [['www-authenticate', 'Bearer'] as const] : []),
        ]);
      },
    });
  get('/healthz/live', () => [200, '{"status":"live"}', JSON_TYPE]);
  get('/healthz/ready', (isReader) => {
    const { ready, shown } = readiness();
    const details = isReader ? shown : {};
    return [
      ready ? 200 : 503,
      JSON.stringify({ status: ready ? 'ready' : 'not ready', ...details }),
      JSON_TYPE,
    ];
  });
  get('/metrics', (isReader) =>
    isReader ? [200, metrics.expose(), metrics.contentType] : [401, UNAUTHORIZED, JSON_TYPE],
  );
  http.announce({
    path: '/healthz/ready',
    title: 'Readiness',
    about: 'Whether this process is ready for work, and what it depends on.',
  });
  http.announce({ path: '/healthz/live', title: 'Liveness', about: 'Answers while the process runs.' });
  http.announce({ path: '/metrics', title: 'Metrics', about: 'Figures of this process, for Prometheus.' });
  addStartPage(http);
}
