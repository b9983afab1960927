import type { Metrics } from '../metrics.ts';
import type { HttpServer } from './http.ts';
import { addStartPage } from './start-page.ts';

/** Whether a process is ready for work, and the details to show. */
export interface Readiness {
  readonly ready: boolean;
  readonly shown: object;
}

/**
 * Adds `/healthz/live`, `/healthz/ready` (503 while not ready) and `/metrics` to a process, and the page at `/`, which
 * lists them behind what was announced before.
 */
export function addOperations(http: HttpServer, metrics: Metrics, readiness: () => Readiness): void {
  const get = (pattern: string, answer: () => readonly [status: number, text: string, contentType: string]) =>
    http.route({
      method: 'get',
      pattern,
      bodyMaxBytes: 0,
      cors: undefined,
      readHead: () => undefined,
      answer: (_head, _body, reply) => {
        const [status, text, contentType] = answer();
        reply.send(status, text, [
          ['content-type', contentType],
          ['cache-control', 'no-store'],
        ]);
      },
    });
  const json = 'application/json; charset=utf-8';
  get('/healthz/live', () => [200, '{"status":"live"}', json]);
  get('/healthz/ready', () => {
    const { ready, shown } = readiness();
    return [ready ? 200 : 503, JSON.stringify({ status: ready ? 'ready' : 'not ready', ...shown }), json];
  });
  get('/metrics', () => [200, metrics.expose(), metrics.contentType]);
  http.announce({
    path: '/healthz/ready',
    title: 'Readiness',
    about: 'Whether this process is ready for work, and what it depends on.',
  });
  http.announce({ path: '/healthz/live', title: 'Liveness', about: 'Answers while the process runs.' });
  http.announce({ path: '/metrics', title: 'Metrics', about: 'Figures of this process, for Prometheus.' });
  addStartPage(http);
}
