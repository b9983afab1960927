import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { writeParts } from './body-writes.ts';
import { compress, compressStream, isCompressible, UNCOMPRESSED_MAX_BYTES } from './compression.ts';
import { type Encoding, encodedTag, encodingFor } from './encoding.ts';
import {
  type HeaderList,
  headerLines,
  headerOf,
  JSON_TYPE,
  jsonHeaderBlock,
  oneLine,
  withCommon,
} from './headers.ts';
import type { HttpResponse } from './library.ts';
import { isPaced, type RejectionPace } from './rejection-pace.ts';
import { statusLine } from './status.ts';

/** Answers one request, once. After the peer has gone, calls have no effect. */
export interface Reply {
  /** False once the peer has gone or the answer was given. */
  readonly open: boolean;
  /** Aborted once the connection is gone before the whole answer was sent. */
  readonly gone: AbortSignal;
  /** Sends `text` as JSON. `more` are headers of only this answer; a list of `headers` that was sent before costs nothing. */
  json(status: number, text: string, headers?: HeaderList, more?: HeaderList): void;
  /** Sends any body with these headers. */
  send(status: number, body: string | Uint8Array, headers: HeaderList): void;
  /**
   * Sends a body as it comes, and takes `chunks` only at the peer's pace. Nothing is sent before the first chunk: an
   * error until then is thrown, and another answer can be given. After a later error the connection is cut, so that the
   * peer does not take the part for the whole, and the error is thrown. `chunks` is ended when the peer disconnects, or
   * takes nothing for a minute. `cut` cuts the connection immediately; its reason is thrown.
   */
  stream(
    status: number,
    headers: HeaderList,
    chunks: AsyncIterable<Uint8Array>,
    cut?: AbortSignal,
  ): Promise<void>;
  /**
   * Begins a body without an end of its own, and sends `first`. `onRoom` is called when a slow peer takes more.
   * Undefined for HEAD, which is answered immediately, and if the peer has gone.
   */
  feed(headers: HeaderList, first: string, onRoom: () => void): Feed | undefined;
}

/** A body that is sent as there is something to send. A peer that takes none of the waiting bytes for 10 seconds is disconnected. */
export interface Feed {
  /** False: the peer is slow, and nothing should be sent before `onRoom`. */
  send(text: string): boolean;
  /** Ends the body. */
  end(): void;
}

/** The parts of a request that decide the form of its answer. */
export interface AnswerForm {
  /** HEAD: the answer of GET without its body. A body would be read as the beginning of the next answer. */
  readonly isHead: boolean;
  /** The value of Accept-Encoding. */
  readonly acceptEncoding: string;
}

const NO_HEADERS: HeaderList = [];
const EMPTY_BODY = new Uint8Array(0);
const VARY = ['vary', 'accept-encoding'] as const;
/** A peer that takes nothing of a body for this long is disconnected. */
const STALL_MAX_MS = 60_000;
const TRICKLE_EVERY_MS = 4_000;
const RETAINED_BYTES = STALL_MAX_MS / TRICKLE_EVERY_MS;
/** While the source gives nothing for this long, all of its output so far is sent. */
const RELEASE_AFTER_MS = 50;

/** The answer to a request of the HTTP library. Compresses long bodies and streams for peers that accept it. */
export class OpenReply implements Reply {
  readonly #response: HttpResponse;
  readonly #form: AnswerForm;
  readonly #pace: RejectionPace;
  readonly #settled: () => void;
  #aborted: (() => void) | undefined;
  #held: { release(): void } | undefined;
  #gone: AbortController | undefined;
  #isSettled = false;
  #isGone = false;
  open = true;

  /** `settled` is called once: when the answer was given, or when the peer has gone. */
  constructor(response: HttpResponse, form: AnswerForm, pace: RejectionPace, settled: () => void) {
    this.#response = response;
    this.#form = form;
    this.#pace = pace;
    this.#settled = settled;
  }

  get gone(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AbortController();
      // Everything that runs for a request may listen, and nothing outlives it.
      setMaxListeners(0, this.#gone.signal);
    }
    if (this.#isGone) this.#gone.abort();
    return this.#gone.signal;
  }

  json(status: number, text: string, headers: HeaderList = NO_HEADERS, more: HeaderList = NO_HEADERS): void {
    if (isPaced(status)) this.#later(() => this.#json(status, text, headers, more));
    else this.#json(status, text, headers, more);
  }

  send(status: number, body: string | Uint8Array, headers: HeaderList): void {
    if (isPaced(status)) this.#later(() => this.#send(status, body, headers));
    else this.#send(status, body, headers);
  }

  async stream(
    status: number,
    headers: HeaderList,
    chunks: AsyncIterable<Uint8Array>,
    cut?: AbortSignal,
  ): Promise<void> {
    const onCut = () => this.#close(() => this.#response.close());
    cut?.addEventListener('abort', onCut);
    try {
      if (isNegotiable(headers)) {
        const encoding = encodingFor(this.#form.acceptEncoding);
        const pieces = encoding === 'identity' ? chunks : compressStream(chunks, encoding);
        await this.#stream(status, encodedHeaders(headers, encoding), pieces);
      } else await this.#stream(status, headers, chunks);
      cut?.throwIfAborted();
    } finally {
      cut?.removeEventListener('abort', onCut);
    }
  }

  feed(headers: HeaderList, first: string, onRoom: () => void): Feed | undefined {
    if (!this.open) return undefined;
    if (this.#form.isHead) {
      this.#finish(() => {
        writeHead(this.#response, 200, headers);
        this.#response.endWithoutBody();
      });
      return undefined;
    }
    this.#response.onWritable(() => {
      if (this.open) onRoom();
      return true;
    });
    this.#response.cork(() => {
      writeHead(this.#response, 200, headers);
    });
    this.#write([Buffer.from(first)]);
    return {
      send: (text) => this.open && this.#write([Buffer.from(text)]),
      end: () => this.#close(() => this.#response.end()),
    };
  }

  /** Releases `held` once the answer was given or the peer has gone. */
  releaseLater(held: { release(): void }): void {
    if (this.#isSettled) held.release();
    else this.#held = held;
  }

  /** Lets `act` take the connection over instead of an answer. False: the peer has gone or has its answer. */
  handOver(act: () => void): boolean {
    if (!this.open || this.#isSettled) return false;
    this.#finish(act);
    return true;
  }

  /** Gives a rejection when its turn comes, unless the peer has gone by then. */
  #later(answer: () => void): void {
    if (!this.open) return;
    this.open = false;
    // Nothing of the request is needed any more, such as the rest of its body.
    this.#release();
    this.#pace.add(() => {
      if (this.#isSettled) return;
      this.open = true;
      answer();
    });
  }

  #json(status: number, text: string, headers: HeaderList, more: HeaderList): void {
    if (this.#form.isHead || Buffer.byteLength(text) > UNCOMPRESSED_MAX_BYTES) {
      this.#send(status, text, [['content-type', JSON_TYPE], ...headers, ...more]);
      return;
    }
    this.#finish(() => {
      // The library writes 200 by itself.
      if (status !== 200) this.#response.writeStatus(statusLine(status));
      this.#response.writeHeader('content-type', jsonHeaderBlock(headers) + headerLines(more));
      this.#response.end(text);
    });
  }

  #send(status: number, body: string | Uint8Array, headers: HeaderList): void {
    if (!this.open) return;
    if (Buffer.byteLength(body) <= UNCOMPRESSED_MAX_BYTES || !isNegotiable(headers)) {
      this.#finish(() => this.#end(status, body, headers));
      return;
    }
    const encoding = encodingFor(this.#form.acceptEncoding);
    const encoded = encodedHeaders(headers, encoding);
    if (encoding === 'identity') {
      this.#finish(() => this.#end(status, body, encoded));
      return;
    }
    this.open = false;
    compress(body, encoding).then(
      (bytes) => this.#finish(() => this.#end(status, bytes, encoded)),
      // This only fails without memory, and an uncompressed body needs no more.
      () => this.#finish(() => this.#end(status, body, encodedHeaders(headers, 'identity'))),
    );
  }

  async #stream(status: number, headers: HeaderList, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const pieces = chunks[Symbol.asyncIterator]();
    let isBegun = false;
    // The last bytes that came, held back so that there is something to send while the peer is slow.
    let held: Uint8Array = EMPTY_BODY;
    const release = () => {
      this.#write([held]);
      held = EMPTY_BODY;
    };
    try {
      const begin = await pieces.next();
      // Until the request's own turn ends, the library corks its connection, and all that is written is collected.
      await nextTurn();
      for (let next = begin; this.open; next = await this.#nextOf(pieces, release)) {
        if (this.#form.isHead) {
          this.#close(() => {
            writeHead(this.#response, status, headers);
            this.#response.endWithoutBody();
          });
          return;
        }
        if (!isBegun) this.#response.cork(() => writeHead(this.#response, status, headers));
        isBegun = true;
        if (next.done) {
          this.#close(() => {
            writeParts(this.#response, [held]);
            this.#response.end();
          });
          return;
        }
        const cut = Math.max(0, next.value.length - RETAINED_BYTES);
        const isTaken = this.#write([held, next.value.subarray(0, cut)]);
        held = next.value.subarray(cut);
        if (!isTaken) held = await this.#drained(held);
      }
    } catch (error) {
      if (isBegun) this.#close(() => this.#response.close());
      throw error;
    } finally {
      await pieces.return?.();
    }
  }

  /** The next piece; `release` is called if it does not come soon. */
  async #nextOf(pieces: AsyncIterator<Uint8Array>, release: () => void): Promise<IteratorResult<Uint8Array>> {
    const timer = setTimeout(() => this.open && release(), RELEASE_AFTER_MS);
    try {
      return await pieces.next();
    } finally {
      clearTimeout(timer);
    }
  }

  /** True if the peer takes more immediately. */
  #write(parts: readonly Uint8Array[]): boolean {
    return writeParts(this.#response, parts);
  }

  /**
   * Resolves with the rest of `held` once the peer took the written bytes, disconnected, or is given up. The library
   * disconnects a peer that takes nothing for ten seconds after the last write, so a byte is written regularly.
   */
  #drained(held: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve) => {
      let left = held;
      const trickle = setInterval(() => {
        if (left.length === 0) return;
        const isTaken = this.#write([left.subarray(0, 1)]);
        left = left.subarray(1);
        // The write was taken, so nothing else reports that there is room.
        if (isTaken) over();
      }, TRICKLE_EVERY_MS);
      const over = () => {
        clearTimeout(patience);
        clearInterval(trickle);
        resolve(left);
      };
      const patience = setTimeout(() => this.#close(() => this.#response.close()), STALL_MAX_MS);
      this.#aborted = over;
      this.#response.onWritable(() => {
        // Deferred until this listener has returned: a listener that is set before that would be replaced by this one.
        setImmediate(over);
        return true;
      });
    });
  }

  #close(act: () => void): void {
    if (this.#isSettled) return;
    this.#finish(act);
    this.#aborted?.();
  }

  /** The peer has gone. */
  abort(): void {
    this.open = false;
    this.#isGone = true;
    this.#gone?.abort();
    if (this.#isSettled) return;
    this.#settle();
    this.#aborted?.();
  }

  /** Gives the answer, unless the peer has gone or has its answer. */
  #finish(act: () => void): void {
    this.open = false;
    if (this.#isSettled) return;
    this.#settle();
    this.#response.cork(act);
  }

  #settle(): void {
    this.#isSettled = true;
    this.#settled();
    this.#release();
  }

  #release(): void {
    this.#held?.release();
    this.#held = undefined;
  }

  #end(status: number, body: string | Uint8Array, headers: HeaderList): void {
    endWith(this.#response, { status, body, headers, isHead: this.#form.isHead });
  }
}

export interface WholeAnswer {
  readonly status: number;
  readonly body: string | Uint8Array;
  readonly headers: HeaderList;
  /** Leaves the body out and gives its length. */
  readonly isHead: boolean;
}

/** Writes a whole answer. */
export function endWith(response: HttpResponse, { status, body, headers, isHead }: WholeAnswer): void {
  writeHead(response, status, headers);
  if (status === 204 || status === 304) response.endWithoutBody();
  else if (isHead) {
    response.writeHeader('content-length', String(Buffer.byteLength(body)));
    response.endWithoutBody();
  } else response.end(body);
}

/** Writes a whole answer and closes the connection after it. The library cannot do so without a body, as for HEAD. */
export function endLast(response: HttpResponse, { status, body, headers, isHead }: WholeAnswer): void {
  writeHead(response, status, headers);
  response.end(isHead ? '' : body, true);
}

function writeHead(response: HttpResponse, status: number, headers: HeaderList): void {
  response.writeStatus(statusLine(status));
  for (const [name, value] of withCommon(headers)) response.writeHeader(name, oneLine(value));
}

/** True if the encoding of the body is still to be chosen; a static asset has chosen. */
function isNegotiable(headers: HeaderList): boolean {
  return headerOf(headers, 'vary') === undefined && isCompressible(headerOf(headers, 'content-type') ?? '');
}

function encodedHeaders(headers: HeaderList, encoding: Encoding): HeaderList {
  if (encoding === 'identity') return [...headers, VARY];
  const tagged = headers.map(
    ([name, value]) => [name, name.toLowerCase() === 'etag' ? encodedTag(value, encoding) : value] as const,
  );
  return [...tagged, ['content-encoding', encoding], VARY];
}
