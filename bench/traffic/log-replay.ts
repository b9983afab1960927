import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { backoffMs } from '../../infra/concurrency/backoff.ts';
import { botOf } from '../../ingest/enrich/bot.ts';
import { isReferrer } from '../../ingest/enrich/referrer.ts';
import { type Client, type Credential, rejectOf } from '../cluster/client.ts';
import { isPageView, LineNames, type LogEntry, parseLine, utf8 } from './access-log.ts';

export interface ReplayOptions {
  readonly file: string;
  readonly url: string;
  readonly site: string;
  readonly credential: Credential;
  /** Scheme and host that the log's paths belong to. */
  readonly origin: string;
  /** Times real time; undefined: as fast as the service accepts. */
  readonly speed: number | undefined;
  /** Leaves out the page views of user agents that the service takes for bots. */
  readonly withoutRobots: boolean;
}

/** Progress of a replay. */
export interface ReplayTotals {
  lines: number;
  unreadable: number;
  /** Page views that were left out, because a robot made them. */
  ofRobots: number;
  /** All other page views. */
  pageViews: number;
  accepted: number;
  /** Tries that had to be repeated. */
  retries: number;
  /** Answers that a retry would not change, by status and message. */
  readonly rejected: Map<string, number>;
}

// Visitors are spread over this many lanes; a lane sends one request at a time.
const LANES = 48;
// Page views that are read ahead of sending.
const WAITING_MAX = 2_000;
const REASONS_MAX = 20;
const TRIES_MAX = 60;
const BACKOFF = { firstMs: 100, maxMs: 5_000 };

/**
 * Sends the page views of a log to the service, each visitor's in the log's order and one after the other, so that
 * sessions grow as they did then. `totals` is kept up to date for a progress display. It stops reading and throws when
 * the service cannot be reached for minutes.
 *
 * Sending the same log twice changes nothing: each line has an `eventId` made from its content. The service looks for
 * repeats among the events of a device. A device id made by the service contains the salt of the day, so a visitor
 * would be another device tomorrow. Therefore the replay names the device by a hash of site, address and user agent;
 * this also gives robots and command-line tools a session. The service remembers ids for 24 h; after that, a second
 * replay counts again.
 */
export async function replayLog(client: Client, options: ReplayOptions, totals: ReplayTotals): Promise<void> {
  const lanes = new Array<Promise<void>>(LANES).fill(Promise.resolve());
  const names = new LineNames();
  const failure = new AbortController();
  let waiting = 0;
  let pace: Pace | undefined;
  for await (const line of linesOf(options.file)) {
    if (failure.signal.aborted) break;
    if (line === '') continue;
    totals.lines += 1;
    const eventId = names.nameOf(line);
    const parsed = parseLine(line);
    if (parsed.kind === 'unreadable') totals.unreadable += 1;
    if (parsed.kind === 'unreadable' || !isPageView(parsed.entry)) continue;
    const { entry } = parsed;
    if (options.withoutRobots && botOf(userAgentOf(entry)) !== undefined) {
      totals.ofRobots += 1;
      continue;
    }
    totals.pageViews += 1;
    pace ??= new Pace(entry.atMs, options.speed);
    await pace.until(entry.atMs);
    const deviceId = deviceOf(options.site, entry);
    const lane = Number.parseInt(deviceId.slice(0, 8), 16) % LANES;
    waiting += 1;
    lanes[lane] = (lanes[lane] ?? Promise.resolve())
      .then(() =>
        failure.signal.aborted ? undefined : send(client, options, entry, eventId, deviceId, totals),
      )
      .catch((error: unknown) => failure.abort(error))
      .finally(() => {
        waiting -= 1;
      });
    if (waiting >= WAITING_MAX) await lanes[lane];
  }
  await Promise.all(lanes);
  failure.signal.throwIfAborted();
}

export function emptyTotals(): ReplayTotals {
  return { lines: 0, unreadable: 0, ofRobots: 0, pageViews: 0, accepted: 0, retries: 0, rejected: new Map() };
}

/** Lines of a plain or gzipped file as latin1, so that every byte survives. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const bytes = createReadStream(file);
  const plain = file.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes;
  // An error of the file would otherwise not reach the reader behind the decompressor.
  bytes.once('error', (error) => plain.destroy(error));
  plain.setEncoding('latin1');
  yield* createInterface({ input: plain, crlfDelay: Number.POSITIVE_INFINITY });
}

/** Delays page views until their time has come. */
class Pace {
  readonly #firstMs: number;
  readonly #startedMs = Date.now();
  readonly #speed: number | undefined;

  constructor(firstMs: number, speed: number | undefined) {
    this.#firstMs = firstMs;
    this.#speed = speed;
  }

  async until(atMs: number): Promise<void> {
    if (this.#speed === undefined) return;
    const waitMs = this.#startedMs + (atMs - this.#firstMs) / this.#speed - Date.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

async function send(
  client: Client,
  options: ReplayOptions,
  entry: LogEntry,
  eventId: string,
  deviceId: string,
  totals: ReplayTotals,
): Promise<void> {
  const body = bodyOf(options, entry, eventId, deviceId);
  const headers = headersOf(entry);
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const answer = await client
      .post(`${options.url}/track`, options.credential, headers, body)
      .catch(() => undefined);
    if (answer?.status === 200) {
      totals.accepted += 1;
      return;
    }
    if (answer !== undefined && answer.status !== 503 && answer.status !== 429) {
      const reason = rejectOf(answer);
      const known = totals.rejected.has(reason) || totals.rejected.size < REASONS_MAX;
      const shown = known ? reason : 'other';
      totals.rejected.set(shown, (totals.rejected.get(shown) ?? 0) + 1);
      return;
    }
    totals.retries += 1;
    const waitMs = Math.max((answer?.retryAfterS ?? 0) * 1_000, backoffMs(BACKOFF, tries - 1, Math.random()));
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  throw new Error(`the service at ${options.url} took nothing after ${TRIES_MAX} tries`);
}

function bodyOf(options: ReplayOptions, entry: LogEntry, eventId: string, deviceId: string): string {
  const target = utf8(entry.target);
  const referrer = utf8(entry.referrer);
  const properties = {
    __path: /^https?:/i.test(target) ? target : options.origin + target,
    // A log holds whatever was sent; the service rejects text that is no referrer.
    ...(referrer !== '' && isReferrer(referrer) ? { __referrer: referrer } : {}),
    __timestamp: entry.atMs,
    __deviceId: deviceId,
  };
  return JSON.stringify({ type: 'track', payload: { name: 'screen_view', eventId, properties } });
}

function headersOf(entry: LogEntry): Record<string, string> {
  const userAgent = userAgentOf(entry);
  const address = /^[\da-fA-F.:]+$/.test(entry.address) ? { 'service-client-ip': entry.address } : {};
  return { ...address, ...(userAgent === '' ? {} : { 'user-agent': userAgent }) };
}

/** The user agent as it is sent: a header cannot contain control characters, and a log can. */
function userAgentOf({ userAgent }: LogEntry): string {
  return userAgent.replace(/[^\x20-\x7e\x80-\xff]/g, ' ').trim();
}

function deviceOf(site: string, { address, userAgent }: LogEntry): string {
  return createHash('sha256')
    .update(`${site}\n${address}\n${userAgent}`, 'latin1')
    .digest('hex')
    .slice(0, 32);
}
