import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';

// Node 20 has no WebSocket client, and the one of later versions cannot stop reading, which a slow peer does.

const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const MASKED = 0x80;

/** The answer to a request that was not upgraded. */
export interface Refusal {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** A WebSocket client that shows the server's messages. It answers pings. */
export class TestSocket {
  /** The texts that came, with the time of each by `Date.now`. */
  readonly messages: { readonly text: string; readonly atMs: number }[] = [];
  /** The code of the server's close; 1006 where the connection broke off. */
  closeCode: number | undefined;
  readonly #socket: Socket;
  #bytes: Buffer;

  private constructor(socket: Socket, head: Buffer) {
    this.#socket = socket;
    this.#bytes = head;
    socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#read();
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      this.closeCode ??= 1006;
    });
    this.#read();
  }

  /** Connects, or resolves with the answer that the server gave instead. `url` begins with http. */
  static connect(url: string, headers: Readonly<Record<string, string>> = {}): Promise<TestSocket | Refusal> {
    return new Promise((resolve, reject) => {
      const outgoing = request(url, {
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': randomBytes(16).toString('base64'),
          ...headers,
        },
      });
      outgoing.once('upgrade', (_response, socket, head) => resolve(new TestSocket(socket as Socket, head)));
      outgoing.once('response', (incoming) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (part: string) => {
          text += part;
        });
        incoming.once('end', () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }),
        );
      });
      outgoing.once('error', reject);
      outgoing.end();
    });
  }

  /** The same, for a server that must accept. */
  static async open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<TestSocket> {
    const connected = await TestSocket.connect(url, headers);
    if (connected instanceof TestSocket) return connected;
    throw new Error(`no upgrade: ${connected.status} ${connected.text}`);
  }

  get texts(): readonly string[] {
    return this.messages.map(({ text }) => text);
  }

  get last(): string | undefined {
    return this.messages.at(-1)?.text;
  }

  /** Reads nothing more until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  send(text: string): void {
    this.#write(TEXT, Buffer.from(text));
  }

  /** Breaks the connection off. */
  destroy(): void {
    this.#socket.destroy();
  }

  #read(): void {
    for (;;) {
      const frame = frameIn(this.#bytes);
      if (frame === undefined) return;
      this.#bytes = this.#bytes.subarray(frame.bytes);
      if (frame.kind === TEXT) this.messages.push({ text: frame.body.toString('utf8'), atMs: Date.now() });
      if (frame.kind === PING) this.#write(PONG, frame.body);
      if (frame.kind === CLOSE) {
        this.closeCode = frame.body.readUInt16BE(0);
        this.#socket.end();
      }
    }
  }

  /** With an empty mask, which leaves the body as it is. */
  #write(kind: number, body: Buffer): void {
    const length =
      body.length < 126
        ? Buffer.of(MASKED | body.length)
        : Buffer.of(MASKED | 126, body.length >> 8, body.length & 0xff);
    this.#socket.write(Buffer.concat([Buffer.of(MASKED | kind), length, Buffer.alloc(4), body]));
  }
}

/** The first whole frame. Servers do not mask, and ours does not divide messages. */
function frameIn(bytes: Buffer): { kind: number; body: Buffer; bytes: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes.readUInt8(1);
  const head = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < head) return undefined;
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (bytes.length < head + length) return undefined;
  const body = bytes.subarray(head, head + length);
  return { kind: bytes.readUInt8(0) & 0x0f, body, bytes: head + length };
}
