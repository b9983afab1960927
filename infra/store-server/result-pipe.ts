import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';

/**
 * A named pipe into which the engine writes a result of any format, as it would write a file, while we forward it:
 * memory stays constant, and the engine waits when the client does. (The engine's own streaming returns each block as a
 * separate document, so pieces of JSON or Parquet would not fit together.)
 */
export class ResultPipe {
  readonly chunks: AsyncIterable<Buffer>;
  readonly #socket: Socket;
  #writeFd: number | undefined;

  constructor(path: string) {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    // Our own writing end: the engine never waits for a reader, and the stream ends when `end` is called, even if the
    // engine failed before it opened the pipe.
    this.#writeFd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    this.#socket = new Socket({ fd, readable: true, writable: false });
    this.chunks = this.#socket;
  }

  /** Call when the engine has written everything: `chunks` ends after it. */
  end(): void {
    if (this.#writeFd === undefined) return;
    closeSync(this.#writeFd);
    this.#writeFd = undefined;
  }

  close(): void {
    this.end();
    this.#socket.destroy();
  }
}
