import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';

/**
 * A named pipe through which the engine writes a result in any format, exactly as it would write a file, while we pass
 * it on: constant memory, and an engine that waits when the client does. (The engine's own streaming hands out each
 * block as a document of its own, so that JSON or Parquet would come in pieces that do not fit together.)
 */
export class ResultPipe {
  readonly chunks: AsyncIterable<Buffer>;
  readonly #socket: Socket;
  #keptOpenFd: number | undefined;

  constructor(path: string) {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    // Our own writing end: the engine never waits for a reader, and the end comes when we say so, even when the
    // engine failed before it opened the pipe.
    this.#keptOpenFd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    this.#socket = new Socket({ fd, readable: true, writable: false });
    this.chunks = this.#socket;
  }

  /** The engine has written all it will write: `chunks` ends behind it. */
  end(): void {
    if (this.#keptOpenFd === undefined) return;
    closeSync(this.#keptOpenFd);
    this.#keptOpenFd = undefined;
  }

  close(): void {
    this.end();
    this.#socket.destroy();
  }
}
