import type { Store } from '../../infra/store/store.ts';
import { latestOf, type SessionSpan } from '../../ingest/session-lookup.ts';
import type { EndedByPlace, EndedQuestion } from '../fold/session-answers.ts';
import { SESSIONS_TABLE } from '../rows.ts';

/** The store gives up a query that takes longer: a collector waits for the answer. */
const QUESTION_MAX_SECONDS = 1;

/** The store's answer to one question. */
interface StoredSpan {
  readonly place: number;
  readonly sessionId: string;
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * The latest session of each question's device (`latestOf`), of the retained and the stored ones; the place of a
 * question without one is missing. All questions share one query.
 */
export async function latestSessions(
  store: Store,
  questions: readonly EndedQuestion[],
): Promise<EndedByPlace> {
  const rows = await store.query<StoredSpan>(
    `SELECT place, lower(hex(latest.1)) AS sessionId, latest.2 AS firstMs, latest.3 AS lastMs
     FROM (
       SELECT asked.1 AS place, argMax((id, startMs, endMs), (startMs <= asked.2, startMs)) AS latest
       FROM (
         SELECT projectId, deviceId, id,
                argMax(toUnixTimestamp64Milli(startedAt), version) AS startMs,
                argMax(toUnixTimestamp64Milli(endedAt), version) AS endMs
         FROM ${SESSIONS_TABLE}
         WHERE sign = 1 AND projectId IN {projectIds:Array(String)}
           AND deviceId IN {deviceIds:Array(String)} AND lower(hex(id)) NOT IN {retainedIds:Array(String)}
         GROUP BY projectId, deviceId, id
       ) AS stored
       INNER JOIN (
         SELECT arrayJoin(arrayZip({places:Array(UInt32)}, {timesMs:Array(Int64)}, {projects:Array(String)},
                                   {devices:Array(String)})) AS asked,
                asked.3 AS projectId, asked.4 AS deviceId
       ) AS questions USING (projectId, deviceId)
       GROUP BY place
     )`,
    {
      projectIds: [...new Set(questions.map(({ projectId }) => projectId))],
      deviceIds: [...new Set(questions.map(({ deviceId }) => deviceId))],
      retainedIds: questions.flatMap(({ retainedIds }) => retainedIds),
      places: questions.map(({ place }) => place),
      timesMs: questions.map(({ occurredAtMs }) => occurredAtMs),
      projects: questions.map(({ projectId }) => projectId),
      devices: questions.map(({ deviceId }) => deviceId),
    },
    { max_execution_time: QUESTION_MAX_SECONDS },
  );
  const stored = new Map<number, SessionSpan>();
  for (const { place, sessionId, firstMs, lastMs } of rows) {
    stored.set(place, { sessionId, firstMs: Number(firstMs), lastMs: Number(lastMs) });
  }
  return latestOfBoth(questions, stored);
}

/** The latest of the retained and the stored session, by the places of the questions. */
export function latestOfBoth(questions: readonly EndedQuestion[], stored: EndedByPlace): EndedByPlace {
  const ended = new Map<number, SessionSpan>();
  for (const { place, held, occurredAtMs } of questions) {
    const latest = latestOf(held, stored.get(place), occurredAtMs);
    if (latest !== undefined) ended.set(place, latest);
  }
  return ended;
}
