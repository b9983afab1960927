/** The error codes that this program raises itself, with ClickHouse's names. */
export const CODES = {
  NOT_IMPLEMENTED: 48,
  SYNTAX_ERROR: 62,
  UNKNOWN_FORMAT: 73,
  UNKNOWN_TYPE_OF_QUERY: 78,
  READONLY: 164,
  TOO_MANY_SIMULTANEOUS_QUERIES: 202,
  NETWORK_ERROR: 210,
  QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING: 216,
  NOT_ENOUGH_SPACE: 243,
  ZLIB_INFLATE_FAILED: 354,
  INTO_OUTFILE_NOT_ALLOWED: 358,
  QUERY_WAS_CANCELLED: 394,
  BAD_ARGUMENTS: 36,
  ACCESS_DENIED: 497,
  AUTHENTICATION_FAILED: 516,
  STD_EXCEPTION: 1001,
} as const;
export type CodeName = keyof typeof CODES;

/** An error as ClickHouse reports it: a number, its name and a text. */
export class ClickHouseException extends Error {
  override readonly name = 'ClickHouseException';
  readonly code: number;
  readonly codeName: string;

  constructor(code: number, codeName: string, message: string) {
    super(message);
    this.code = code;
    this.codeName = codeName;
  }

  /** The body of the answer, in the real server's words. */
  text(version: string): string {
    return `Code: ${this.code}. DB::Exception: ${this.message} (${this.codeName}) (version ${version})\n`;
  }
}

/** An error raised by this program, not by the engine. */
export function exception(name: CodeName, message: string): ClickHouseException {
  return new ClickHouseException(CODES[name], name, message);
}

const LEAD = /^Code: (\d+)\. DB::Exception: /;
const TAIL = /\(([A-Z][A-Z0-9_]+)\)\s*$/;
const VERSION = /\(version [^()]*(?:\([^()]*\))?\)\s*$/;
// An insert reaches the engine as a file of the spool, whose path means nothing to the client.
const SPOOL_PATH = /\(in file\/uri [^)]{0,1000}\): /g;
const SPOOL_STAGE = /: While executing File: data for INSERT was parsed from file/g;

/**
 * Parses an error of the engine. The addon wraps some of them twice: `Code: 33. DB::Exception: Code: 33. DB::Exception:
 * … (NAME) (version …). (NAME)`; the innermost text is returned.
 */
export function engineException(error: unknown): ClickHouseException {
  if (error instanceof ClickHouseException) return error;
  let text = error instanceof Error ? error.message : String(error);
  let code: number | undefined;
  let codeName: string | undefined;
  for (let lead = LEAD.exec(text); lead !== null; lead = LEAD.exec(text)) {
    code = Number(lead[1]);
    text = text.slice(lead[0].length);
    const tail = TAIL.exec(text);
    if (tail !== null) {
      codeName = tail[1];
      text = text.slice(0, tail.index).trimEnd().replace(/\.$/, '').replace(VERSION, '').trimEnd();
    }
  }
  // The inner wrapping leaves its own name at the end.
  if (codeName !== undefined && text.endsWith(`(${codeName})`))
    text = text.slice(0, -codeName.length - 2).trimEnd();
  text = text.replace(SPOOL_PATH, '').replace(SPOOL_STAGE, ': data for INSERT was parsed from the request');
  if (!text.endsWith('.')) text += '.';
  return new ClickHouseException(code ?? CODES.STD_EXCEPTION, codeName ?? 'STD_EXCEPTION', text);
}

const FORBIDDEN = new Set([192, 193, 497, 512, 516]);
const BAD_REQUEST = new Set([
  6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223, 321, 376, 427, 441, 675, 676,
]);
const NOT_FOUND = new Set([46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511]);
const UNAVAILABLE = new Set([76, 209, 439]);

/** The HTTP status that the real server sends with this code. */
export function httpStatus(code: number): number {
  if (BAD_REQUEST.has(code)) return 400;
  if (code === 194) return 401;
  if (FORBIDDEN.has(code)) return 403;
  if (NOT_FOUND.has(code)) return 404;
  if (code === 159) return 408;
  if (code === 381) return 411;
  if (code === 229) return 413;
  if (code === 779) return 415;
  if (code === 48) return 501;
  if (UNAVAILABLE.has(code)) return 503;
  return 500;
}
