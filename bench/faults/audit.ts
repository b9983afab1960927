import { HOUR_MS } from '../../infra/durations.ts';
import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { type ReferenceResult, reference } from '../../processor/testing/reference.ts';
import { dayOf, Questions, shownRatio } from '../cluster/answers.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import type { Cluster } from '../cluster/cluster.ts';
import {
  isSynthetic,
  type StoredEvent,
  type StoredSession,
  storedCounts,
  storedEvents,
  storedSessions,
} from '../cluster/stored.ts';
import type { Entry, Ledger } from '../traffic/ledger.ts';

export interface Audit {
  readonly acknowledged: number;
  readonly stored: number;
  readonly sessions: number;
  /** Events of an outage that were stored in another session than the answered one. */
  readonly otherSessions: number;
  /** The differences found, in words, the first few of each kind. Empty if everything is right. */
  readonly differences: readonly string[];
}

const SETTLED_MAX_MS = 60_000;
/** Default time that a session without events stays open. */
const RETAIN_MS = HOUR_MS;
const SHOWN_MAX = 5;
const EVENT_NAMES = ['screen_view', 'click'];

/** A time in which a session's owner could not be asked or did not know, so that a collector answered a derived id. */
export interface Outage {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Waits until everything is in the store and compares it with the senders' records: every acknowledged event is stored exactly
 * once and in the answered session, nothing else is stored, sessions equal the oracle's, and the API agrees. `host` answers
 * questions. Only an event in flight during one of the `outages` may be stored in another session than the answered one.
 */
export async function audit(
  cluster: Cluster,
  ledger: Ledger,
  host: string,
  outages: readonly Outage[] = [],
  site: string = cluster.credentials.projectId,
): Promise<Audit> {
  const { root } = cluster.credentials.clients;
  const client = new Client(2);
  const store = cluster.openStore(site);
  try {
    const questions = new Questions(client, cluster.url(host), site, root);
    const acknowledged = ledger.acknowledged.length;
    let seen = '';
    await waitFor('everything is in the store', () => isFinalized(), SETTLED_MAX_MS).catch(
      async (error: unknown) => {
        const missing = missingOf(ledger, await storedEvents(store, site));
        throw new Error(`${acknowledged} acknowledged, ${seen}${missing}`, { cause: error });
      },
    );
    async function isFinalized(): Promise<boolean> {
      const { events, inSessions } = await storedCounts(store, site);
      seen = `${events} stored, ${inSessions} in sessions after ${SETTLED_MAX_MS} ms`;
      if (events < acknowledged || events !== inSessions) return false;
      const exported = (await questions.exportPage(EVENT_NAMES, 1, 1)).meta.totalCount;
      seen += `, ${exported} exported`;
      return exported === events;
    }
    const events = await storedEvents(store, site);
    const sessions = await storedSessions(store, site);
    const stored = events.filter((event) => !isSynthetic(event));
    const sessionByEvent = new Map(stored.map(({ eventId, sessionId }) => [eventId, sessionId]));
    const isLoose = (entry: Entry) => outages.some((outage) => overlaps(entry, outage));
    const oracle = reference(ledger.arrivals(site, sessionByEvent, isLoose), { retainMs: RETAIN_MS });
    const differences = [
      ...eventDifferences(ledger, stored, oracle, outages),
      ...sessionDifferences(sessions, oracle),
      ...startDifferences(events, oracle),
      ...endDifferences(events, oracle),
      ...(await answerDifferences(questions, stored, oracle)),
    ];
    const otherSessions = inOtherSessions(ledger, sessionByEvent, outages);
    return { acknowledged, stored: stored.length, sessions: sessions.length, otherSessions, differences };
  } finally {
    client.close();
    await store.close();
  }
}

function inOtherSessions(
  ledger: Ledger,
  sessionByEvent: ReadonlyMap<string, string>,
  outages: readonly Outage[],
): number {
  return ledger.acknowledged.filter(
    (entry) =>
      outages.some((outage) => overlaps(entry, outage)) &&
      entry.answered?.sessionId !== sessionByEvent.get(entry.event.eventId),
  ).length;
}

/** The acknowledged events that the store does not have, in words. */
function missingOf(ledger: Ledger, stored: readonly StoredEvent[]): string {
  const known = new Set(stored.map(({ eventId }) => eventId));
  const missing = ledger.acknowledged.filter(({ event }) => !known.has(event.eventId));
  return missing
    .slice(0, SHOWN_MAX)
    .map(({ event, sentAtMs, acknowledgedAtMs = 0 }) => {
      const [sent, acknowledged] = [sentAtMs, acknowledgedAtMs].map((ms) => new Date(ms).toISOString());
      return `\n  missing: ${event.eventId} of ${event.deviceId}, sent ${sent}, acknowledged ${acknowledged}`;
    })
    .join('');
}

function eventDifferences(
  ledger: Ledger,
  stored: readonly StoredEvent[],
  oracle: ReferenceResult,
  outages: readonly Outage[],
): string[] {
  const byEventId = new Map<string, StoredEvent[]>();
  for (const row of stored) byEventId.set(row.eventId, [...(byEventId.get(row.eventId) ?? []), row]);
  const sent = new Set(ledger.entries.map(({ event }) => event.eventId));
  const expected = new Map(oracle.events.map(({ event, sessionId }) => [event.eventId, sessionId]));
  const lost: string[] = [];
  const doubled: string[] = [];
  const elsewhere: string[] = [];
  for (const entry of ledger.entries) {
    const { event, acknowledgedAtMs } = entry;
    const answered = outages.some((outage) => overlaps(entry, outage)) ? undefined : entry.answered;
    const rows = byEventId.get(event.eventId) ?? [];
    if (rows.length > 1) doubled.push(`${event.eventId} ×${rows.length}`);
    const [row] = rows;
    if (row === undefined) {
      if (acknowledgedAtMs !== undefined) lost.push(event.eventId);
      continue;
    }
    const places = new Set([
      row.sessionId,
      expected.get(event.eventId),
      answered?.sessionId ?? row.sessionId,
    ]);
    if (places.size > 1) {
      const [inStore, inOracle, inAnswer] = [row.sessionId, expected.get(event.eventId), answered?.sessionId];
      elsewhere.push(`${event.eventId} stored ${inStore}, oracle ${inOracle}, answered ${inAnswer}`);
    }
  }
  const foreign = stored.filter(({ eventId }) => !sent.has(eventId)).map(({ eventId }) => eventId);
  return [
    ...found('acknowledged and lost', lost),
    ...found('stored more than once', doubled),
    ...found('session ids that disagree', elsewhere),
    ...found('stored and never sent', foreign),
  ];
}

function sessionDifferences(stored: readonly StoredSession[], oracle: ReferenceResult): string[] {
  const text = (session: Omit<StoredSession, 'states'>, states: number) =>
    JSON.stringify([
      session.id,
      session.deviceId,
      session.profileId,
      session.startedAtMs,
      session.endedAtMs,
      session.screenViews,
      session.otherEvents,
      session.entryPath,
      session.exitPath,
      states,
    ]);
  const expected = oracle.sessions.map((session) =>
    text({ ...session, entryPath: session.entry.path, exitPath: session.exit.path }, 1),
  );
  const actual = stored.map((session) => text(session, session.states));
  return compared('sessions', actual, expected);
}

function startDifferences(stored: readonly StoredEvent[], oracle: ReferenceResult): string[] {
  return compared('session starts', textsOf(SESSION_START, stored), textsOf(SESSION_START, oracle.synthetic));
}

/**
 * Returns ends that no session may have, and duplicates. A session ends once its lane's clock is `RETAIN_MS` past its last event.
 * The oracle's clock moves only with events and the lane's also by itself, so the lane may have written ends that the oracle
 * lacks.
 */
function endDifferences(stored: readonly StoredEvent[], oracle: ReferenceResult): string[] {
  const nowMs = Date.now();
  const expected = new Set(textsOf(SESSION_END, oracle.synthetic));
  const overdue = oracle.sessions.filter(({ touchedAtMs }) => nowMs - touchedAtMs > RETAIN_MS);
  for (const { id, endedAtMs } of overdue) expected.add(`${SESSION_END} ${id} ${endedAtMs}`);
  const actual = textsOf(SESSION_END, stored);
  const right = [...new Set(actual)].filter((text) => expected.has(text));
  return compared('session ends', actual, right);
}

function textsOf(
  kind: string,
  events: readonly { readonly name: string; readonly sessionId: string; readonly createdAtMs: number }[],
): string[] {
  return events
    .filter(({ name }) => name === kind)
    .map(({ name, sessionId, createdAtMs }) => `${name} ${sessionId} ${createdAtMs}`);
}

async function answerDifferences(
  questions: Questions,
  stored: readonly StoredEvent[],
  oracle: ReferenceResult,
): Promise<string[]> {
  const exported: string[] = [];
  for (let page = 1; ; page += 1) {
    const { meta, data } = await questions.exportPage(EVENT_NAMES, page, 1_000);
    exported.push(...data.map(({ sessionId }) => sessionId));
    if (data.length === 0 || page >= meta.pages) break;
  }
  const times = oracle.events.map(({ event }) => event.occurredAtMs).sort((a, b) => a - b);
  const metrics = await questions.metrics(dayOf(times[0] ?? 0), dayOf(times.at(-1) ?? 0));
  const views = oracle.events.filter(({ event }) => event.name === 'screen_view').length;
  const profileBySession = new Map(oracle.sessions.map(({ id, profileId }) => [id, profileId]));
  const visitors = new Set(
    oracle.events.map(
      ({ event, sessionId }) => profileBySession.get(sessionId) || event.profileId || event.deviceId,
    ),
  ).size;
  const durationMs = oracle.sessions.reduce(
    (sum, session) => sum + session.endedAtMs - session.startedAtMs,
    0,
  );
  const bounces = oracle.sessions.filter(({ screenViews }) => screenViews <= 1).length;
  const actual = [
    `views ${metrics.total_screen_views}`,
    `visitors ${metrics.unique_visitors}`,
    `sessions ${metrics.total_sessions}`,
    `bounces ${metrics.bounce_rate} %`,
    `duration ${metrics.avg_session_duration} s`,
  ];
  const expected = [
    `views ${views}`,
    `visitors ${visitors}`,
    `sessions ${oracle.sessions.length}`,
    `bounces ${shownRatio(bounces * 100, oracle.sessions.length)} %`,
    `duration ${shownRatio(durationMs / 1_000, oracle.sessions.length)} s`,
  ];
  return [
    ...compared(
      'exported',
      exported,
      stored.map(({ sessionId }) => sessionId),
    ),
    ...compared('metrics', actual, expected),
  ];
}

function overlaps({ sentAtMs, acknowledgedAtMs = sentAtMs }: Entry, { fromMs, untilMs }: Outage): boolean {
  return sentAtMs <= untilMs && acknowledgedAtMs >= fromMs;
}

/** Differences between two multisets of texts. */
function compared(what: string, actual: readonly string[], expected: readonly string[]): string[] {
  const balance = new Map<string, number>();
  for (const text of actual) balance.set(text, (balance.get(text) ?? 0) + 1);
  for (const text of expected) balance.set(text, (balance.get(text) ?? 0) - 1);
  const extra = [...balance].filter(([, count]) => count > 0).map(([text]) => text);
  const missing = [...balance].filter(([, count]) => count < 0).map(([text]) => text);
  return [...found(`${what}: too many`, extra.sort()), ...found(`${what}: missing`, missing.sort())];
}

function found(what: string, cases: readonly string[]): string[] {
  return cases.length === 0 ? [] : [`${what} (${cases.length}): ${cases.slice(0, SHOWN_MAX).join('; ')}`];
}
