/**
 * A copy of a text from a request, to be remembered longer than the request. A part of a text shares the memory of the
 * whole text, such as a long header, which would stay in memory with it.
 */
export function copyText(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** The first `max` characters of a text; a cut is a copy. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : copyText(text.slice(0, max));
}
