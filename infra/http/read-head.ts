import {
  ALWAYS_FITS,
  HEAD_MAX_BYTES,
  HEADER_LIMITS,
  limitedHeader,
  PATH_MAX_CHARACTERS,
} from './head-limits.ts';
import type { HttpRequest, HttpResponse } from './library.ts';

/**
 * The head of a request of the library, with all headers read in one pass. It costs as much as looking up twenty names, which a request of
 * the hot path does, and only a pass shows that a header is there twice.
 */
export class ReadHead {
  readonly #request: HttpRequest;
  readonly #response: HttpResponse;
  readonly #ending: string;
  readonly #names: string[] = [];
  readonly #values: string[] = [];
  /** The lengths of the names, as bits modulo 32. Most names that are looked up are absent, and so is their length. */
  #lengths = 0;
  /** Path, query and headers, together. */
  readonly #bytes: number;
  /** The first header that the request is rejected for. */
  #tooLong: string | undefined;

  /** `ending` ends the last parameter and is no part of it. */
  constructor(request: HttpRequest, response: HttpResponse, ending = '') {
    this.#request = request;
    this.#ending = ending;
    this.#response = response;
    let bytes = request.getUrl().length + this.query.length;
    request.forEach((name, value) => {
      bytes += name.length + value.length;
      this.#names.push(name);
      this.#values.push(value.length > ALWAYS_FITS ? this.#limited(name, value) : value);
      this.#lengths |= 1 << name.length;
    });
    this.#bytes = bytes;
  }

  /** The part of a request that is too long, so that it must not be read. */
  excess(): { readonly status: 400 | 431; readonly problem: string } | undefined {
    if (this.#bytes > HEAD_MAX_BYTES)
      return { status: 431, problem: `path, query and headers are longer than ${HEAD_MAX_BYTES} bytes` };
    const path = this.path.length > PATH_MAX_CHARACTERS ? ('path' as const) : undefined;
    const name = path ?? this.#tooLong;
    if (name === undefined) return undefined;
    const max = path === undefined ? HEADER_LIMITS[name]?.charactersMax : PATH_MAX_CHARACTERS;
    return { status: 400, problem: `${name}: expected at most ${max} characters` };
  }

  #limited(name: string, value: string): string {
    const read = limitedHeader(name, value);
    if (read === undefined) this.#tooLong ??= name;
    return read ?? '';
  }

  get method(): string {
    return this.#request.getCaseSensitiveMethod();
  }
  get path(): string {
    return this.#request.getUrl();
  }
  /** The library answers undefined without a `?`, although its types say otherwise. */
  get query(): string {
    return (this.#request.getQuery() as string | undefined) ?? '';
  }
  header(name: string): string {
    const index = this.#indexOf(name);
    return index < 0 ? '' : (this.#values[index] ?? '');
  }
  headerLines(name: string): string {
    return this.#values.filter((_value, index) => this.#names[index] === name).join(',');
  }
  parameter(index: number): string {
    const segment = this.#request.getParameter(index);
    const text = segment.slice(0, segment.length - this.#ending.length);
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // Not an escape after all; the text stays unchanged.
    }
  }
  remoteAddress(): string {
    // A Buffer around these few bytes costs more than reading them one by one.
    const bytes = new Uint8Array(this.#response.getRemoteAddressAsText());
    let text = '';
    for (let index = 0; index < bytes.length; index += 1) text += String.fromCharCode(bytes[index] ?? 0);
    return text;
  }

  /**
   * The reason why a proxy in front may see another host, or another end of this request, than the library; undefined for a sound
   * request. The library takes the first of several lengths and treats every transfer coding as chunks. So the body that a
   * proxy sees could be the next request to us, with the proxy's rights.
   */
  ambiguity(): string | undefined {
    if (this.#isRepeated('host')) return 'host: expected one line';
    const length = this.#indexOf('content-length');
    if (length >= 0 && (this.#values[length] === '' || this.#isRepeated('content-length')))
      return 'content-length: expected one number';
    const coding = this.#indexOf('transfer-encoding');
    const isChunks = this.#values[coding]?.toLowerCase() === 'chunked';
    if (coding >= 0 && (!isChunks || this.#isRepeated('transfer-encoding')))
      return 'transfer-encoding: expected chunked, alone';
    return undefined;
  }

  #indexOf(name: string): number {
    return (this.#lengths & (1 << name.length)) === 0 ? -1 : this.#names.indexOf(name);
  }

  #isRepeated(name: string): boolean {
    return this.#names.indexOf(name) !== this.#names.lastIndexOf(name);
  }
}
