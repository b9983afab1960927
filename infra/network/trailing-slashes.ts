const SLASH = '/'.charCodeAt(0);

/** A text without the slashes at its end. The expression `/\/+$/` tries again from each slash, which takes seconds for a header full of them. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === SLASH) end -= 1;
  return text.slice(0, end);
}
