import { createHash } from 'node:crypto';

/**
 * Web-server logs in common and combined format (Apache, nginx and those that imitate them):
 *
 *     address ident user [day/Mon/year:hh:mm:ss +hhmm] "METHOD target HTTP/1.1" status bytes
 *     … "referrer" "user agent"                                     in the combined format; more may follow
 *
 * Lines are texts in latin1, one character per byte, so that broken UTF-8 survives; `utf8` decodes it where it matters.
 * A quoted field may contain \" \\ \n \t and \xhh. A user agent whose closing quote is missing (cut off by a buffer)
 * ends with the line.
 */
export interface LogEntry {
  readonly address: string;
  readonly atMs: number;
  readonly method: string;
  /** Path with query, or a whole URL where the client asked a proxy. */
  readonly target: string;
  readonly status: number;
  /** Empty when the log has none. */
  readonly referrer: string;
  readonly userAgent: string;
}

/** Why a line is no entry. */
export const UNREADABLE_REASONS = ['shape', 'date', 'request', 'status'] as const;
export type UnreadableReason = (typeof UNREADABLE_REASONS)[number];

export type ParsedLine =
  | { readonly kind: 'entry'; readonly entry: LogEntry }
  | { readonly kind: 'unreadable'; readonly reason: UnreadableReason };

const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"';
const LINE = new RegExp(`^(\\S+) (\\S+) ([^[]*)\\[([^\\]]*)\\] ${QUOTED} (\\S+) (\\S+)(.*)$`, 's');
const REFERRER_AND_AGENT = new RegExp(`^ ${QUOTED} "((?:[^"\\\\]|\\\\.)*)("|\\\\?$)`, 's');
const DATE = /^(\d{2})\/([A-Z][a-z]{2})\/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const REQUEST = /^([A-Z]+) (\S.*?)(?: HTTP\/\d(?:\.\d)?)?$/s;
const LINE_MAX_CHARACTERS = 65_536;

/** Parses one line without its line end. */
export function parseLine(line: string): ParsedLine {
  const fields = line.length > LINE_MAX_CHARACTERS ? null : LINE.exec(line);
  if (fields === null) return unreadable('shape');
  const [, address = '', , , date = '', request = '', statusText = '', , rest = ''] = fields;
  const atMs = parseDate(date);
  if (atMs === undefined) return unreadable('date');
  const [, method = '', target = ''] = REQUEST.exec(unescapeField(request)) ?? [];
  if (method === '') return unreadable('request');
  if (!/^[1-5]\d\d$/.test(statusText)) return unreadable('status');
  const [, referrer = '', userAgent = ''] = REFERRER_AND_AGENT.exec(rest) ?? [];
  const entry = {
    address,
    atMs,
    method,
    target,
    status: Number(statusText),
    referrer: absentAsEmpty(unescapeField(referrer)),
    userAgent: absentAsEmpty(unescapeField(userAgent)),
  };
  return { kind: 'entry', entry };
}

// File endings of pages.
const PAGE_ENDINGS = new Set([
  'html',
  'htm',
  'xhtml',
  'shtml',
  'php',
  'asp',
  'aspx',
  'jsp',
  'jspx',
  'cfm',
  'cgi',
  'pl',
  'do',
]);
const ENDING = /^[a-z][a-z0-9]{0,5}$|^mp[34]$|^7z$|^woff2?$/i;

/**
 * True if the request was a page view: a GET, answered with 200 or (from the visitor's cache) 304, of a path whose last segment
 * has no file ending or one of a page. Style sheets, scripts, images, feeds, archives and robots.txt do not count; a directory
 * and `/download` do. Robots count as well, unless a replay leaves them out.
 */
export function isPageView(entry: LogEntry): boolean {
  if (entry.method !== 'GET' || (entry.status !== 200 && entry.status !== 304)) return false;
  const path = pathOf(entry.target);
  if (path === undefined) return false;
  const segment = path.slice(path.lastIndexOf('/') + 1);
  const dot = segment.lastIndexOf('.');
  if (dot < 0) return true;
  const ending = segment.slice(dot + 1).toLowerCase();
  // `/release-1.2` and `/node.js-tips` contain a dot and have no file ending.
  return PAGE_ENDINGS.has(ending) || !ENDING.test(ending);
}

/** The path of a request's target, without query; undefined for targets that are no path (`*`, `host:port`). */
export function pathOf(target: string): string | undefined {
  const local = target.replace(/^https?:\/\/[^/?#]*/i, '');
  if (local !== target && !local.startsWith('/')) return '/';
  if (!local.startsWith('/')) return undefined;
  const end = local.search(/[?#]/);
  return end < 0 ? local : local.slice(0, end);
}

/** Decodes the bytes behind a latin1 text as UTF-8; invalid bytes become the replacement character. */
export function utf8(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8');
}

/**
 * Names lines so that a second reading of the same log gives the same names: by the line's content and, since a log may
 * contain the same line twice and both count, by how often it occurred before.
 */
export class LineNames {
  // One entry per different line: about 100 bytes each, the price of recognizing repeats.
  readonly #timesSeen = new Map<string, number>();

  nameOf(line: string): string {
    const digest = createHash('sha256').update(line, 'latin1').digest('hex').slice(0, 32);
    const timesSeen = this.#timesSeen.get(digest) ?? 0;
    this.#timesSeen.set(digest, timesSeen + 1);
    return timesSeen === 0 ? digest : `${digest}-${timesSeen}`;
  }
}

function parseDate(text: string): number | undefined {
  const parts = DATE.exec(text);
  if (parts === null) return undefined;
  const [, day, monthName = '', year, hour, minute, second, sign, zoneHours, zoneMinutes] = parts;
  const month = MONTHS.indexOf(monthName);
  if (month < 0) return undefined;
  const at = new Date(
    Date.UTC(Number(year), month, Number(day), Number(hour), Number(minute), Number(second)),
  );
  // Date.UTC accepts 31 February and 25 o'clock; a log that says so is broken. Second 60 is a leap second.
  const spilt = at.getUTCDate() !== Number(day) || at.getUTCHours() !== Number(hour);
  if (Number(minute) > 59 || Number(second) > 60 || (spilt && second !== '60')) return undefined;
  if (Number(hour) > 23 || Number(day) < 1 || Number(day) > 31) return undefined;
  const zoneMs = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000;
  return at.getTime() - (sign === '-' ? -zoneMs : zoneMs);
}

function unescapeField(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(x[0-9a-fA-F]{2}|.)/gs, (_whole, escaped: string) => {
    if (escaped.length === 3) return String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return { n: '\n', t: '\t', r: '\r', b: '\b', v: '\v', f: '\f' }[escaped] ?? escaped;
  });
}

function absentAsEmpty(text: string): string {
  return text === '-' ? '' : text;
}

function unreadable(reason: UnreadableReason): ParsedLine {
  return { kind: 'unreadable', reason };
}
