import { Turns } from '../concurrency/turns.ts';
import { type HeaderList, JSON_TYPE } from './headers.ts';
import type { Reply } from './open-reply.ts';

/** A longer answer is encoded in short turns and streamed. Encoding this much takes about a millisecond. */
export const WHOLE_CHARS_MAX = 262_144;
const PIECE_CHARS = 65_536;
/** Lists and the two outer levels of objects are divided; their members are encoded as a whole. */
const DIVIDED_DEPTH = 2;

/** Large answers give way between pieces, all of a process one after the other. */
const turns = new Turns();

/**
 * Sends a value as JSON. A long text is never in memory as a whole: the peer gets it in pieces, at its own pace, and the event loop serves others
 * between them. `more` are headers of this answer only.
 */
export async function replyJson(
  reply: Pick<Reply, 'json' | 'stream'>,
  value: unknown,
  headers: HeaderList,
  more: () => HeaderList | undefined,
): Promise<void> {
  const pieces = jsonPieces(value);
  let text = '';
  for (let next = pieces.next(); !next.done; next = pieces.next()) {
    text += next.value;
    if (text.length <= WHOLE_CHARS_MAX) continue;
    const all: HeaderList = [['content-type', JSON_TYPE], ...headers, ...(more() ?? [])];
    await reply.stream(200, all, encoded(text, pieces));
    return;
  }
  reply.json(200, text, headers, more());
}

/** The text of `JSON.stringify`, in pieces whose length depends on single rows, not on their number. */
export function* jsonPieces(value: unknown, depth = 0): Generator<string, void, void> {
  if (depth < DIVIDED_DEPTH && Array.isArray(value)) {
    if (value.length === 0) yield '[]';
    for (const [index, one] of value.entries()) {
      yield index === 0 ? '[' : ',';
      yield* jsonPieces(one, depth + DIVIDED_DEPTH);
    }
    if (value.length > 0) yield ']';
  } else if (depth < DIVIDED_DEPTH && isPlain(value)) {
    let before = '{';
    for (const [key, one] of Object.entries(value)) {
      // Fields without a value in JSON are left out.
      if (one === undefined || typeof one === 'function' || typeof one === 'symbol') continue;
      yield `${before}${JSON.stringify(key)}:`;
      yield* jsonPieces(one, depth + 1);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else yield JSON.stringify(value) ?? 'null';
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The bytes of the encoded beginning and of the rest, in pieces of some size. */
async function* encoded(begun: string, rest: Iterable<string>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(begun);
  const turn = turns.begin();
  let text = '';
  for (const piece of rest) {
    text += piece;
    if (text.length >= PIECE_CHARS) {
      yield Buffer.from(text);
      text = '';
    }
    if (turn.isOver()) await turn.next();
  }
  if (text !== '') yield Buffer.from(text);
}
