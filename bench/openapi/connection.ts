import { connect, type Socket } from 'node:net';

/** An answer byte for byte, except for the headers' names, which are in lower case. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const TIMEOUT_MS = 20_000;
const HEAD_END = '\r\n\r\n';

/**
 * One kept connection that sends exactly the bytes it is given, including bytes that no HTTP library would send, one
 * request at a time.
 */
export class RawConnection {
  readonly #port: number;
  readonly #localAddress: string;
  readonly #timeoutMs: number;
  #socket: Socket | undefined;

  /** `localAddress` is the address that the service sees: any of 127.0.0.0/8. */
  constructor(port: number, localAddress: string, timeoutMs = TIMEOUT_MS) {
    this.#port = port;
    this.#timeoutMs = timeoutMs;
    this.#localAddress = localAddress;
  }

  /** Rejects when no answer comes in time, or when the connection ends before the answer is complete. */
  async exchange(bytes: Buffer, isHead = false): Promise<RawAnswer> {
    const kept = this.#socket !== undefined && !this.#socket.destroyed;
    try {
      return await this.#exchangeOnce(bytes, isHead);
    } catch (error) {
      // The server closes idle connections, perhaps at this very moment.
      if (!kept || !(error instanceof UnheardError)) throw error;
      return await this.#exchangeOnce(bytes, isHead);
    }
  }

  close(): void {
    this.#socket?.destroy();
  }

  #exchangeOnce(bytes: Buffer, isHead: boolean): Promise<RawAnswer> {
    const socket = this.#opened();
    return new Promise((resolve, reject) => {
      let received = Buffer.alloc(0);
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        socket.off('data', onData).off('close', onClose).off('error', onClose);
        finish();
      };
      const fail = (error: Error) => {
        socket.destroy();
        settle(() => reject(error));
      };
      const timeoutMs = this.#timeoutMs;
      const timer = setTimeout(() => fail(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      const onData = (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        try {
          const answer = answerIn(received, isHead);
          if (answer === undefined) return;
          // An answer to HEAD must end with its head; further bytes are an error.
          if (answer.headers.connection === 'close' || isHead) socket.destroy();
          settle(() => resolve(answer));
        } catch (error) {
          fail(error instanceof Error ? error : new Error(String(error)));
        }
      };
      const onClose = () =>
        fail(
          received.length === 0
            ? new UnheardError('the connection was closed without an answer')
            : new Error(`the connection was closed after ${JSON.stringify(received.toString('latin1'))}`),
        );
      socket.on('data', onData).on('close', onClose).on('error', onClose);
      socket.write(bytes);
    });
  }

  #opened(): Socket {
    const { destroyed = true } = this.#socket ?? {};
    if (destroyed || this.#socket === undefined) {
      this.#socket = connect({ host: '127.0.0.1', port: this.#port, localAddress: this.#localAddress });
      // A waiting request fails with the error; without one, the error does not matter.
      this.#socket.on('error', () => {});
      this.#socket.setNoDelay(true);
    }
    return this.#socket;
  }
}

class UnheardError extends Error {}

/** The answer once it is complete. Throws for a second answer, and for bytes that are no HTTP. */
function answerIn(received: Buffer, isHead: boolean): RawAnswer | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const [first = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  if (Number.isNaN(status)) throw new Error(`no status line: ${JSON.stringify(first)}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const begin = headEnd + HEAD_END.length;
  if (isHead) return { status, headers, body: received.subarray(begin) };
  if (headers['transfer-encoding'] === 'chunked') {
    const body = chunkedBody(received, begin);
    return body === undefined ? undefined : { status, headers, body };
  }
  const announced = headers['content-length'];
  const bytes = announced === undefined ? 0 : Number(announced);
  const isEmpty = status === 204 || status === 304;
  if (announced === undefined && !isEmpty && headers.connection !== 'close')
    throw new Error(`neither a length nor an end: ${JSON.stringify(first)}`);
  const length = isEmpty ? 0 : bytes;
  if (received.length < begin + length) return undefined;
  if (received.length > begin + length)
    throw new Error(
      `more than one answer: ${JSON.stringify(received.toString('latin1', begin + length).slice(0, 200))}`,
    );
  return { status, headers, body: received.subarray(begin) };
}

/** A chunked body, once its last chunk is there. */
function chunkedBody(received: Buffer, begin: number): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = begin; ; ) {
    const lineEnd = received.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = received.toString('latin1', at, lineEnd);
    if (!/^[0-9a-f]+$/i.test(size)) throw new Error(`no chunk: ${JSON.stringify(size)}`);
    const from = lineEnd + 2;
    const to = from + Number.parseInt(size, 16);
    if (received.length < to + 2) return undefined;
    if (to === from) {
      if (received.length > to + 2) throw new Error('more than one answer behind the last chunk');
      return Buffer.concat(chunks);
    }
    chunks.push(received.subarray(from, to));
    at = to + 2;
  }
}
