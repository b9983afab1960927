import { promisify } from 'node:util';
import {
  type BrotliCompress,
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  type Gzip,
  gzip,
} from 'node:zlib';
import type { Encoding } from './encoding.ts';

/** Any encoding except none. */
export type Compression = Exclude<Encoding, 'identity'>;

/** A body of at most this many bytes fits a packet or two, and is sent uncompressed. */
export const UNCOMPRESSED_MAX_BYTES = 1_024;

/**
 * The levels, by measurement over JSON of exported events (393 kB), size and time of one core:
 *
 *     gzip 1   10.0 %   502 MB/s        brotli 1   8.5 %   894 MB/s
 *     gzip 3    8.9 %   368 MB/s        brotli 3   7.4 %   370 MB/s
 *     gzip 6    7.6 %   105 MB/s        brotli 5   6.2 %   151 MB/s
 *
 * Ranked rows (12 kB) show the same order. At these levels a stream is still compressed faster than the store sends it.
 */
const GZIP_LEVEL = 3;
const BROTLI_QUALITY = 3;
/** A window of 256 KiB: with the usual one of 4 MiB a stream has 15 MB of memory, and is no smaller by a hundredth. */
const BROTLI_WINDOW_BITS = 18;
/** Output of a slow source is sent after this time, even if it does not fill a block. */
const FLUSH_AFTER_MS = 200;
const PIECE_BYTES = 65_536;

/** Ends the block. By default gzip also forgets the content before, which costs bytes. */
const FLUSHES: Readonly<Record<Compression, number>> = {
  gzip: constants.Z_SYNC_FLUSH,
  br: constants.BROTLI_OPERATION_FLUSH,
};

const gzipped = promisify(gzip);
const brotlied = promisify(brotliCompress);

/** True if a smaller body can be expected. Pictures and Parquet files are compressed already. */
export function isCompressible(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return (
    (type.startsWith('text/') && type !== 'text/event-stream') ||
    /^application\/(?:[\w.-]+\+)?(?:json|xml|javascript|x-ndjson)$/.test(type) ||
    type === 'image/svg+xml'
  );
}

/** Compresses a whole body, on another thread. */
export function compress(body: string | Uint8Array, compression: Compression): Promise<Uint8Array> {
  if (compression === 'gzip') return gzipped(body, { level: GZIP_LEVEL });
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  return brotlied(body, {
    params: { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(body) },
  });
}

/**
 * Compresses a body as it comes, on another thread and in constant memory: takes `chunks` only at the reader's pace.
 * Output is passed on when a block is full, or when no more comes for a moment. `chunks` is ended when the reader ends;
 * its error is thrown.
 */
export async function* compressStream(
  chunks: AsyncIterable<Uint8Array>,
  compression: Compression,
): AsyncGenerator<Uint8Array> {
  const compressor = compressorOf(compression);
  const fed = feed(chunks, compressor, FLUSHES[compression]);
  try {
    yield* compressor;
  } finally {
    compressor.destroy();
    await fed;
  }
}

type Compressor = Gzip | BrotliCompress;

function compressorOf(compression: Compression): Compressor {
  if (compression === 'gzip') return createGzip({ level: GZIP_LEVEL, chunkSize: PIECE_BYTES });
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN } = constants;
  return createBrotliCompress({
    chunkSize: PIECE_BYTES,
    params: { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_LGWIN]: BROTLI_WINDOW_BITS },
  });
}

/** Writes the chunks at the pace of the compressor. Never rejects: an error of the source destroys the compressor. */
async function feed(chunks: AsyncIterable<Uint8Array>, compressor: Compressor, flush: number): Promise<void> {
  let flushing: NodeJS.Timeout | undefined;
  try {
    for await (const chunk of chunks) {
      clearTimeout(flushing);
      if (compressor.destroyed) return;
      if (!compressor.write(chunk)) await drained(compressor);
      // The reader has ended: another chunk may take long.
      if (compressor.destroyed) return;
      flushing = setTimeout(() => compressor.destroyed || compressor.flush(flush), FLUSH_AFTER_MS);
    }
    if (!compressor.destroyed) compressor.end();
  } catch (error) {
    compressor.destroy(error instanceof Error ? error : new Error(String(error)));
  } finally {
    clearTimeout(flushing);
  }
}

/** Resolves when the compressor takes more, or was destroyed. */
function drained(compressor: Compressor): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      compressor.off('drain', over).off('close', over);
      resolve();
    };
    if (compressor.destroyed) over();
    else compressor.on('drain', over).on('close', over);
  });
}
