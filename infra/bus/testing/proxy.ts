import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Connections to a server that a test can cut, or let fall silent. */
export interface Proxy {
  readonly port: number;
  /** Ends all connections, and takes no new ones until `restore`. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** From the piece after the next one that has this text on, the server's bytes are kept back, on all connections; none is ended. */
  silenceAfter(text: string): void;
}

/** Begins to pass on what comes to a free port to that one of a server on this machine. */
export async function startProxy(to: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let server: Server;
  let last: string | undefined;
  let isSilent = false;
  const open = (port: number) =>
    new Promise<number>((resolve) => {
      server = createServer((near) => {
        const far = connect(to, '127.0.0.1');
        for (const socket of [near, far]) {
          sockets.add(socket);
          socket.on('error', () => {});
        }
        near.pipe(far);
        far.on('data', (bytes) => {
          if (!isSilent) near.write(bytes);
          isSilent ||= last !== undefined && bytes.includes(last);
        });
        far.on('close', () => near.destroy());
      });
      server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  const port = await open(0);
  return {
    port,
    cut: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
        sockets.clear();
      }),
    restore: async () => void (await open(port)),
    silenceAfter: (text) => {
      last = text;
    },
  };
}
