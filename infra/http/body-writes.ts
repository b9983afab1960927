import type { HttpResponse } from './library.ts';

// The library (3.0.6) collects writes while a connection is corked in a buffer of 16 KiB. A write that does not fit any more first sends
// the buffer; if the socket takes only a part of it, because its peer is slow, the library keeps the rest of the buffer and forgets the
// write: a body is then complete by its frames, and lacks some kilobytes. So every write here fits. A whole answer (`end`) is not affected,
// because its peer has taken the one before; with pipelined requests, the library cuts the connection.

/** Bytes of a body that are written while corked, with room for the frames of its chunks. */
const CORKED_MAX_BYTES = 16_000;

/**
 * Writes a few parts of a body that is sent in chunks, whatever their size.
 * @returns true if the peer takes more immediately. A false may come one write late.
 */
export function writeParts(response: HttpResponse, parts: readonly Uint8Array[]): boolean {
  let isTaken = true;
  let corked: Uint8Array[] = [];
  let bytes = 0;
  const flush = () => {
    response.cork(() => {
      for (const part of corked) isTaken = response.write(part);
    });
    corked = [];
    bytes = 0;
  };
  for (const part of parts)
    for (let at = 0; at < part.length; ) {
      const piece = part.subarray(at, at + CORKED_MAX_BYTES - bytes);
      corked.push(piece);
      at += piece.length;
      bytes += piece.length;
      if (bytes === CORKED_MAX_BYTES) flush();
    }
  if (bytes > 0) flush();
  return isTaken;
}
