import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';

/** A loopback server for tests that counts its connections. */
export interface LoopbackServer {
  readonly port: number;
  readonly connections: number;
  stop(): Promise<void>;
}

/** Starts an HTTP server; `onExpectContinue` handles requests with `Expect: 100-continue`. */
export async function startHttp(
  answer: RequestListener,
  onExpectContinue?: RequestListener,
): Promise<LoopbackServer> {
  const server = createServer(answer);
  if (onExpectContinue !== undefined) server.on('checkContinue', onExpectContinue);
  return start(server, () => server.closeAllConnections());
}

/** Starts a raw TCP server for any protocol. */
export function startSockets(speak: (socket: Socket) => void): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  const server = createSocketServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    speak(socket);
  });
  return start(server, () => {
    for (const socket of sockets) socket.destroy();
  });
}

async function start(server: Server, end: () => void): Promise<LoopbackServer> {
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    stop: async () => {
      end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
