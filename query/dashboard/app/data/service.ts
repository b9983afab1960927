/** Requests to the service. All addresses are relative to the page, which may be below a path of a proxy. */

/** An unexpected answer; the message is the service's own. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError';
  /** 0: no answer came. */
  readonly status: number;
  readonly retryAfterS: number;

  constructor(status: number, message: string, retryAfterS = 0) {
    super(message);
    this.status = status;
    this.retryAfterS = retryAfterS;
  }
}

/** Possible values of a query; undefined ones are not sent. */
export type QueryValues = Readonly<Record<string, string | readonly string[] | undefined>>;

let onSignedOut = (): void => {};

/** The header with the proof of an opened shared link, where there is no cookie. */
const VIEW_TOKEN = 'footfall-share';
let viewToken: string | undefined;

/** Sends this proof with every request from now on, and later its replacements from the service. */
export function useViewToken(token: string): void {
  viewToken = token;
}

/** Sets the action for when the service no longer recognizes the caller. */
export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

/** The address of a question, relative to the page. */
export function addressOf(path: string, query: QueryValues = {}): string {
  const pairs = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [value].flat().map((one) => [name, one]),
    ),
  );
  return pairs.size === 0 ? path : `${path}?${pairs}`;
}

/** Options of a request that is not a plain question of a signed-in person. */
interface PageRequest {
  readonly method?: string;
  readonly body?: unknown;
  /** True if a 401 is an ordinary answer, and does not end the session. */
  readonly isPublic?: boolean;
  /** The version that a change is of: the service rejects it when there is a newer one. */
  readonly ifMatch?: string | undefined;
}

/** Asks for JSON. Throws an `AnswerError` for every other answer. */
export async function ask<Answer>(address: string, sending: PageRequest = {}): Promise<Answer> {
  return (await exchange(address, sending)).answer as Answer;
}

/** An answer with its version, for `ifMatch` of a change. */
export interface Versioned<Answer> {
  readonly answer: Answer;
  readonly version: string | undefined;
}

/** Asks for JSON that may be changed afterwards. Throws an `AnswerError` for every other answer. */
export async function askVersion<Answer>(
  address: string,
  sending: PageRequest = {},
): Promise<Versioned<Answer>> {
  const { answer, headers } = await exchange(address, sending);
  return { answer: answer as Answer, version: headers.get('etag') ?? undefined };
}

/** A page of a list. */
export interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** The `cursor` of the next page; undefined after the last one. */
  readonly next: string | undefined;
}

/** Asks for a page of a list. Throws an `AnswerError` for every other answer. */
export async function askPage<Row>(address: string): Promise<ListPage<Row>> {
  const { answer, headers } = await exchange(address, {});
  return { rows: answer as readonly Row[], next: headers.get('x-next-cursor') ?? undefined };
}

async function exchange(
  address: string,
  { method = 'GET', body, isPublic = false, ifMatch }: PageRequest,
): Promise<{ readonly answer: unknown; readonly headers: Headers }> {
  const response = await fetch(address, {
    method,
    credentials: 'same-origin',
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...(viewToken === undefined ? {} : { [VIEW_TOKEN]: viewToken }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new AnswerError(0, 'The service cannot be reached.');
  });
  const { status, headers } = response;
  viewToken = headers.get(VIEW_TOKEN) ?? viewToken;
  if (status === 204) return { answer: undefined, headers };
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return { answer, headers };
  if (status === 401 && !isPublic) onSignedOut();
  const retryAfterS = Number(headers.get('retry-after') ?? 0) || 0;
  throw new AnswerError(status, messageOf(answer) ?? `The service answered ${status}.`, retryAfterS);
}

function messageOf(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('message' in answer)) return undefined;
  return typeof answer.message === 'string' ? answer.message : undefined;
}
