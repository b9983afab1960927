import uws from 'uWebSockets.js';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';
import { OwnProcess } from '../cluster/child-process.ts';

/**
 * The least that an HTTP server for JSON can do: read a body, parse it, answer JSON; or answer a GET immediately. It is the
 * baseline of `POST /track` and `GET …/live`, so it must not pay for any of our code and does not go through
 * `infra/http/http.ts`.
 */
export function serveEcho(): void {
  const app = uws.App();
  app.post('/*', (response) => {
    let parts: Buffer | undefined;
    response.onAborted(() => {});
    response.onData((chunk, isLast) => {
      const part = Buffer.from(chunk);
      if (!isLast) {
        parts = parts === undefined ? Buffer.from(part) : Buffer.concat([parts, part]);
        return;
      }
      const body: unknown = JSON.parse(
        (parts === undefined ? part : Buffer.concat([parts, part])).toString('utf8'),
      );
      response.cork(() => {
        response.writeHeader('content-type', 'application/json; charset=utf-8');
        response.end(JSON.stringify(body));
      });
    });
  });
  app.get('/*', (response) => {
    response.cork(() => {
      response.writeHeader('content-type', 'application/json; charset=utf-8');
      response.end(JSON.stringify({ visitors: 0 }));
    });
  });
  app.listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('the echo found no port');
    process.stdout.write(
      `ready ${JSON.stringify({ url: `http://127.0.0.1:${uws.us_socket_local_port(socket)}` })}\n`,
    );
  });
}

/** The echo as its own process, not started yet; its log goes to `logs/` in `folder`. */
export function echoProcess(folder: string): OwnProcess {
  return new OwnProcess({
    name: 'echo',
    command: process.execPath,
    args: [join(projectRoot, 'dist/bench/main.js'), 'echo'],
    env: {},
    logPath: join(folder, 'logs', 'echo.log'),
    isReady: undefined,
  });
}
