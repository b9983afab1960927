import { createHash } from 'node:crypto';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { touchedFrom } from '../filters/insight-conditions.ts';
import { type CacheSpace, FinalizedCache } from '../rollups/finalized-cache.ts';
import { type FinalizedBlocks, finalizedBeginning } from '../rollups/rollup-spans.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, type Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import type { Span } from '../time/range.ts';
import { Otherwise, type Reason } from '../ways.ts';
import type { FunnelQuery } from './funnel-api.ts';
import type { FunnelFigures } from './funnel-figures.ts';
import type { SomePeople } from './funnel-statement.ts';

/** With fewer users, counting them with the rest is as fast. */
const USERS_MIN = 20_000;
/** With more sessions in both parts, one statement over everything is as fast. */
const CROSSING_MAX = 5_000;

/** Counts the users of a funnel in a part of its span, all or some of them; `why` the store is asked for it. */
export type CountFunnel = (span: Span, seam: Seam, why: Reason, some?: SomePeople) => Promise<FunnelFigures>;

/** The sources of a funnel's parts. */
export interface FunnelPlace {
  readonly history: StatementRunner;
  readonly seam: Seam;
  /** The site's `storedId`. */
  readonly site: StoredId;
  readonly span: Span;
  readonly query: FunnelQuery;
}

type CrossingSession = AnswerRow<'crossing-sessions'>;

/**
 * Funnels of sessions in two parts. The first is finalized and cached. A session with events in both is at first
 * counted in each, so these two counts are subtracted, and the whole session is added:
 *
 *     span        from                     until          to
 *     sessions    ─a──  ──b─  ─c─        ──d──   ─e─  ─f─
 *     counted     a b c d                  d e f              d: − before, − after, + whole
 *
 * A filter must always give the same result for an event: it may test the event itself, or values from the beginning of
 * its session, since a change of these marks every hour of the session (`rollups/filtered-parts.ts`).
 */
export class FinalizedFunnels {
  readonly #cache: FinalizedCache<FunnelFigures>;
  readonly #usersMin: number;

  /** @param usersMin with fewer, nothing is cached; 0 caches everything, from the first question on */
  constructor(space: CacheSpace, usersMin = USERS_MIN) {
    this.#cache = new FinalizedCache({
      ...{ space, kind: 'funnels' },
      bytesOf: ({ bytes }) => bytes,
      isEager: usersMin === 0,
    });
    this.#usersMin = usersMin;
  }

  /** True if a funnel may be counted in parts. */
  static hasParts({ groupBy, breakdown, between, filters, steps }: FunnelQuery): boolean {
    const all = [...filters, ...steps.flatMap((step) => step.filters)];
    const isLasting = all.every(({ field }) => field.owner === 'event');
    return groupBy === 'session_id' && breakdown === undefined && !between && isLasting;
  }

  /** None when one statement over everything is as fast. */
  async ask(
    place: FunnelPlace,
    blocks: FinalizedBlocks | Otherwise,
    count: CountFunnel,
  ): Promise<FunnelFigures | Otherwise> {
    const { seam, span } = place;
    const beginning = finalizedBeginning(blocks, span);
    if (beginning instanceof Otherwise) return beginning;
    const until = { fromMs: span.fromMs, toMs: beginning.untilMs };
    const rest = { fromMs: beginning.untilMs, toMs: span.toMs };
    const isRest = rest.fromMs < rest.toMs;
    return this.#cache.ask(keyOf(place, beginning.key), {
      load: async () => {
        const figures = await count(until, FINALIZED_SEAM, 'finalized');
        return figures.users < this.#usersMin ? new Otherwise('few-finalized') : figures;
      },
      askRest: () =>
        Promise.all([
          isRest ? count(rest, seam, 'not-finalized') : undefined,
          isRest ? askCrossing(place, rest) : [],
        ]),
      merge: async (finalized, [since, crossing]) => {
        if (crossing.length > CROSSING_MAX) return new Otherwise('too-many');
        const figures = finalized.copy();
        if (since !== undefined) figures.add(since, 1);
        if (crossing.length === 0) return figures;
        const ofCrossing = (part: Span) => count(part, seam, 'not-finalized', inHoursOf(crossing, part));
        const [before, after, whole] = await Promise.all([
          ofCrossing(until),
          ofCrossing(rest),
          ofCrossing(span),
        ]);
        figures.add(before, -1);
        figures.add(after, -1);
        figures.add(whole, 1);
        return figures;
      },
    });
  }
}

function keyOf({ site, query: { steps, filters, windowHours } }: FunnelPlace, beginning: string): string {
  const hash = createHash('sha256').update(JSON.stringify([beginning, steps, filters, windowHours]));
  return `${site} ${hash.digest('base64')}`;
}

function askCrossing({ history, seam, site }: FunnelPlace, rest: Span): Promise<CrossingSession[]> {
  const parameters = {
    site,
    at: rest.fromMs,
    touchedFrom: touchedFrom({ span: rest }),
    limit: CROSSING_MAX + 1,
  };
  return history.ask({ name: 'crossing-sessions', parameters, why: 'not-finalized' }, seam);
}

/** These sessions, with the hours of their possible events in a part. */
function inHoursOf(sessions: readonly CrossingSession[], { fromMs, toMs }: Span): SomePeople {
  const firstMs = Math.max(fromMs, Math.min(...sessions.map(({ startedMs }) => startedMs)));
  const hours: number[] = [];
  for (let hour = Math.floor(firstMs / HOUR_MS); hour * HOUR_MS < toMs; hour += 1) hours.push(hour);
  return { people: sessions.map(({ id }) => id), hours };
}
