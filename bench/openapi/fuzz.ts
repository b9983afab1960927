import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { type RawAnswer, RawConnection } from './connection.ts';
import { breachOf, type Law } from './judge.ts';
import { isRestore, type KnownThings } from './known.ts';
import { mutate, mutateCredentials } from './mutate.ts';
import type { ListedOperation } from './operations.ts';
import { bytesOf, type Cast, curlOf, type Draft, goodRequest, type RequestSources } from './requests.ts';
import { oneOf } from './values.ts';

/** The way one request is made. */
type Manner = 'good' | 'mutated' | 'stranger';

interface Planned {
  readonly operation: ListedOperation;
  readonly manner: Manner;
  readonly seed: number;
}

export interface FuzzOptions {
  readonly law: Law;
  readonly known: KnownThings;
  readonly cast: Cast;
  /** The site of the questions, which survives the whole run. */
  readonly site: string;
  readonly url: string;
  readonly seed: number;
  readonly requests: number;
  /** Requests of each operation; the rest are of cheap operations. */
  readonly eachOperation: number;
  /** The same for each question, which the store has to answer. */
  readonly eachQuestion: number;
  readonly inFlight: number;
  /** Called every few seconds with the number of requests so far. */
  readonly say: (line: string) => void;
  /** Ends the run after this many wrong answers. */
  readonly breachesMax: number;
}

export interface FuzzOutcome {
  /** The failures, each with the request to repeat it. */
  readonly breaches: readonly string[];
  /** By operation: good requests that were sent, and those answered 200 or 202. */
  readonly good: ReadonlyMap<string, { sent: number; done: number; lastRefusal: string }>;
  /** The number of answers of each status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** The messages of answers with 503, each once. */
  readonly unavailable: ReadonlySet<string>;
  readonly sent: number;
  /** Requests that were sent again, because an owner of the newest data was late. */
  readonly late: number;
}

const PROGRESS_EVERY_MS = 5_000;
/** Shares of other requests, besides the requests for each operation. */
const STRANGERS = 0.02;
const SENT = 0.6;
const OWN_ADDRESS = '127.0.0.1';
/** Strangers use few addresses, so that some of them reach the limit and others do not. */
const STRAY_ADDRESSES = [
  '127.0.1.1',
  '127.0.1.2',
  '127.0.1.3',
  '127.0.1.4',
  '127.0.1.5',
  '127.0.1.6',
] as const;

/** Sends requests made only from the document, and checks every answer against it. */
export async function fuzz(options: FuzzOptions): Promise<FuzzOutcome> {
  const { law, url } = options;
  const outcome = {
    breaches: [] as string[],
    good: new Map(law.operations.map(({ id }) => [id, { sent: 0, done: 0, lastRefusal: '' }])),
    statuses: new Map<number, number>(),
    unavailable: new Set<string>(),
    sent: 0,
    late: 0,
  };
  const plan = planOf(options);
  const startedAt = Date.now();
  const progress = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    options.say(
      `${outcome.sent} of ${plan.length} requests after ${seconds} s, ${outcome.breaches.length} wrong`,
    );
  }, PROGRESS_EVERY_MS);
  const { hostname, port } = new URL(url);
  const sendOnAndOn = async (worker: number) => {
    const own = new RawConnection(Number(port), OWN_ADDRESS);
    const stray = new RawConnection(
      Number(port),
      STRAY_ADDRESSES[worker % STRAY_ADDRESSES.length] ?? OWN_ADDRESS,
    );
    while (outcome.breaches.length < options.breachesMax) {
      const planned = plan[outcome.sent];
      if (planned === undefined) break;
      outcome.sent += 1;
      const draft = draftOf(options, planned);
      const breach = await sendOne(options, outcome, {
        planned,
        draft,
        connection: draft.isStray ? stray : own,
        host: `${hostname}:${port}`,
      });
      if (breach !== undefined)
        outcome.breaches.push(`${breach}\n    seed ${planned.seed}: ${curlOf(draft, url)}`);
    }
    own.close();
    stray.close();
  };
  await Promise.all(Array.from({ length: options.inFlight }, (_, worker) => sendOnAndOn(worker)));
  clearInterval(progress);
  return outcome;
}

interface Sending {
  readonly planned: Planned;
  readonly draft: Draft;
  readonly connection: RawConnection;
  readonly host: string;
}

/** Sends one request; returns the error in the answer, or that there is none. */
async function sendOne(
  { law, known }: FuzzOptions,
  outcome: {
    readonly good: FuzzOutcome['good'];
    readonly statuses: Map<number, number>;
    readonly unavailable: Set<string>;
    late: number;
  },
  { planned, draft, connection, host }: Sending,
): Promise<string | undefined> {
  const { operation, manner } = planned;
  try {
    const exchange = async () =>
      decoded(await connection.exchange(bytesOf(draft, host), draft.method === 'HEAD'));
    const first = await exchange();
    // On a busy machine an owner may answer later than the three seconds of a question; a client asks again.
    if (isLate(first)) outcome.late += 1;
    const answer = isLate(first) ? await exchange() : first;
    const { status } = answer;
    outcome.statuses.set(status, (outcome.statuses.get(status) ?? 0) + 1);
    if (status === 503)
      outcome.unavailable.add(`${operation.id}: ${answer.body.toString('utf8').slice(0, 200)}`);
    const good = manner === 'good' ? outcome.good.get(operation.id) : undefined;
    if (good !== undefined) {
      good.sent += 1;
      if (status < 300) good.done += 1;
      else good.lastRefusal = answer.body.toString('utf8').slice(0, 200);
    }
    const breach = breachOf(law, draft.method, draft.path, answer);
    if (breach !== undefined) return breach;
    if (status === 404 && manner === 'good') known.missed(operation, draft.names);
    // Whatever a stranger creates belongs to the stranger.
    if (status === 200 && manner !== 'stranger' && !draft.isStray && draft.method === operation.method)
      known.learn(operation, draft.names, jsonIn(answer.body), answer.headers.etag ?? '');
    return undefined;
  } catch (error) {
    return `no answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The answer before compression. Throws if its body does not match its content-encoding. */
export function decoded(answer: RawAnswer): RawAnswer {
  const { headers, body } = answer;
  const encoding = headers['content-encoding'];
  if (encoding === undefined || body.length === 0) return answer;
  if (encoding !== 'gzip' && encoding !== 'br') throw new Error(`the body is encoded as ${encoding}`);
  return { ...answer, body: encoding === 'gzip' ? gunzipSync(body) : brotliDecompressSync(body) };
}

/** An owner of the newest data did not answer in time. */
function isLate({ status, body }: RawAnswer): boolean {
  return status === 503 && body.includes('cannot be reached now');
}

/** Every operation in turn, and cheap ones again and again, in a shuffled order. */
function planOf({ law, seed, requests, eachOperation, eachQuestion }: FuzzOptions): readonly Planned[] {
  const random = new SeededRandom(seed);
  const operations = law.operations.filter((operation) => !isEndless(operation));
  const plan: Planned[] = [];
  const add = (operation: ListedOperation, manner: Manner) =>
    plan.push({ operation, manner, seed: (seed + plan.length * 7919) >>> 0 });
  for (const operation of operations) {
    const count = isQuestion(operation) ? eachQuestion : eachOperation;
    for (let index = 0; index < count; index += 1) add(operation, mannerOf(operation, index));
  }
  const sending = operations.filter(({ tag, body }) => tag === 'Track' && body !== undefined);
  const cheap = operations.filter(({ tag }) => tag === 'Track' || tag === 'Manage');
  const guarded = operations.filter(({ access }) => access === 'secret');
  while (plan.length < requests) {
    // Verifying a wrong secret costs the service as much as a thousand other rejects.
    if (random.chance(STRANGERS)) add(oneOf(random, guarded), 'stranger');
    else if (random.chance(SENT)) add(oneOf(random, sending), random.chance(0.3) ? 'good' : 'mutated');
    else add(oneOf(random, cheap), 'mutated');
  }
  return shuffled(random, plan);
}

function draftOf({ law, known, cast, site }: FuzzOptions, { operation, manner, seed }: Planned): Draft {
  const random = new SeededRandom(seed);
  const sources: RequestSources = { random, named: law.named, known, cast, site };
  const draft = goodRequest(sources, operation);
  if (manner === 'mutated') mutate(sources, draft);
  if (manner === 'stranger') mutateCredentials(sources, draft);
  return draft;
}

/** Half are good; one of eight questions comes from a stranger. */
function mannerOf(operation: ListedOperation, index: number): Manner {
  if (isQuestion(operation) && index % 8 === 1) return 'stranger';
  return index % 2 === 0 ? 'good' : 'mutated';
}

/** An answer that has no end cannot be checked as a whole. */
export function isEndless({ answers }: ListedOperation): boolean {
  return answers.get(200)?.content.some(([mediaType]) => mediaType === 'text/event-stream') === true;
}

function isQuestion({ tag }: ListedOperation): boolean {
  return tag === 'Insights' || tag === 'Export';
}

/** Shuffled, but creations come rather early, deletions and restores rather late, so that there are things to ask about. */
function shuffled(random: SeededRandom, plan: readonly Planned[]): readonly Planned[] {
  const placeOf = ({ operation: { method, path, tag } }: Planned) => {
    if (method === 'DELETE' || isRestore({ path })) return 0.5 + random.next() / 2;
    return tag === 'Manage' && method === 'POST' ? random.next() * 0.6 : random.next();
  };
  return plan
    .map((planned) => ({ planned, place: placeOf(planned) }))
    .sort((a, b) => a.place - b.place)
    .map(({ planned }) => planned);
}

function jsonIn(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
