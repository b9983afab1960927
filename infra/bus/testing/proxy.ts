import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Connections to a server that a test can cut, or let fall silent. */
export interface Proxy {
  readonly port: number;
  /** Ends all connections, and takes no new ones until `restore`. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Drops everything that the server sends after the piece that contains this text. Connections stay open. */
  silenceAfter(text: string): void;
}

/** Listens on a free port, and connects each client to the port `to` of this machine. */
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
