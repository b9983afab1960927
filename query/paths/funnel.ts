import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { Insight } from '../http/endpoint.ts';
import { planLookup } from '../plan/plan.ts';
import { RejectError } from '../reject.ts';
import { lookUpBlocks } from '../rollups/blocks-lookup.ts';
import { openSeam, type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import type { Statement } from '../snapshot/statement.ts';
import type { Span } from '../time/range.ts';
import { orElse } from '../ways.ts';
import { type CountFunnel, FinalizedFunnels } from './finalized-funnels.ts';
import { type FunnelAnswer, type FunnelQuery, funnelAnswer, funnelQuery } from './funnel-api.ts';
import { FunnelFigures } from './funnel-figures.ts';
import {
  type FunnelLimits,
  firstReading,
  funnelStatement,
  type SomePeople,
  unsureOfChunkMax,
} from './funnel-statement.ts';
import { type PeopleRow, tallyPeople } from './people.ts';

/** Some hundred megabytes while they are read: eight bytes for an event, and four for its label. */
export const FUNNEL_LIMITS: FunnelLimits = { eventsMax: 5_000_000, valuesMax: 100_000, unsureMax: 10_000 };

const DESCRIPTION = [
  'Counts how far users come through steps in order. A user is a session, or with `groupBy=profile_id` a visitor: the profile of the session; without one, that of the event; without one, the device. So a visitor who logs in during a session is one user. An alias counts for events that are recorded after it. Events without a session count only by `profile_id`, and events without a visitor not at all.',
  'A run begins at an event of step 1. Each further step is an event after that of the step before it, and no later than `windowHours` after the event of step 1, which is included. Other events may lie in between. One event is never two steps. Events are ordered by time, and those of the same millisecond by id. Every event of a run is in the range. The best run of a user counts: the one that reaches the furthest step; of equal ones the one with the earliest start, and then the earliest event of each step.',
  '`filters` apply to the events of all steps, and those of a step to its events alone. Filters on source and environment (`referrer*`, `utm*`, `channel`, `country` to `screen`) and facts of sessions apply to the session of the event, all others to the event itself.',
  `Nothing is sampled or cut. When the users who have an event of step 2 after one of step 1 have more than ${FUNNEL_LIMITS.eventsMax.toLocaleString('en')} events of any step (with \`between=true\`: of any name), or a breakdown has more than ${FUNNEL_LIMITS.valuesMax.toLocaleString('en')} values, the response is 400.`,
].join('\n\n');

/** Maximum length of the ids in the second statement: a quarter of the limit of a statement's parameters. */
const UNSURE_TEXT_MAX = 1_000_000;

/** The sources of funnels' answers. */
export interface FunnelSources extends SeamSources {
  /** Cache for parts of funnels; without it, everything is counted. */
  readonly funnels?: FinalizedFunnels;
}

/** `GET /insights/{projectId}/funnel` */
export function funnelInsight(sources: FunnelSources): Insight<FunnelQuery, FunnelAnswer> {
  return {
    path: 'funnel',
    about: { summary: 'How far users come through steps', description: DESCRIPTION, answer: funnelAnswer },
    schema: funnelQuery,
    answer: (scope, query) => answerFunnel(sources, scope, query),
  };
}

/**
 * The users of each step of a funnel, exactly.
 * @throws {RejectError} 400 when there is more to read than `limits`
 */
export async function answerFunnel(
  { history, hot, funnels }: FunnelSources,
  scope: QuestionScope,
  query: FunnelQuery,
  limits = FUNNEL_LIMITS,
): Promise<FunnelAnswer> {
  const { span } = requestedRange(query, scope);
  const seam = await openSeam({ history, hot }, scope, query);
  const site = scope.site.storedId;
  const count: CountFunnel = (part, over, why, some) =>
    countUsers(query, { site, span: part, some }, limits, (statement) =>
      history.ask({ ...statement, why }, over),
    );
  if (funnels === undefined || !FinalizedFunnels.hasParts(query))
    return (await count(span, seam, 'no-such-part')).answer(seam.partial);
  const lookup = lookUpBlocks(history, planLookup({ projectId: site, filters: [] }, [span]), seam);
  const figures = await lookup.answer(async (blocks) => {
    const place = { history, seam, site, span, query };
    return orElse(await funnels.ask(place, blocks, count), (why) => count(span, seam, why));
  });
  return figures.answer(seam.partial);
}

/** The site and span in which a funnel is counted. */
interface CountedPlace {
  readonly site: StoredId;
  readonly span: Span;
  /** Undefined means everyone. */
  readonly some?: SomePeople | undefined;
}

type AskPeople = (statement: Statement<'funnel'>) => Promise<readonly PeopleRow[]>;

async function countUsers(
  query: FunnelQuery,
  { some, ...place }: CountedPlace,
  limits: FunnelLimits,
  ask: AskPeople,
): Promise<FunnelFigures> {
  const rows =
    some === undefined
      ? await peopleRows(query, place, limits, ask)
      : await ask(funnelStatement(query, place, { reading: 'exact', some, limits }));
  const { steps, windowHours, between, breakdown } = query;
  const figures = new FunnelFigures(
    steps.map(({ name }) => name),
    { byValue: breakdown !== undefined, between },
  );
  const question = {
    steps: steps.length,
    windowMs: windowHours * HOUR_MS,
    eventsMax: limits.eventsMax,
  };
  await tallyPeople(rows, question, figures);
  if (figures.values > limits.valuesMax) throw tooManyValues(limits);
  return figures;
}

/** The people of a funnel. People whose result depends on ids are read again with ids; if they are too many, everyone is. */
async function peopleRows(
  query: FunnelQuery,
  place: { readonly site: StoredId; readonly span: Span },
  limits: FunnelLimits,
  ask: AskPeople,
): Promise<readonly PeopleRow[]> {
  const statement = funnelStatement(query, place, { reading: firstReading(query, place.span), limits });
  const rows = await ask(statement);
  if (rows.length === statement.parameters.rowsMax) throw tooManyValues(limits);
  const people = rows.flatMap(({ unsure }) => unsure);
  if (people.length === 0) return rows;
  const reading = 'exact';
  const ofChunkMax = unsureOfChunkMax(limits.unsureMax);
  const areTold =
    people.length <= limits.unsureMax &&
    people.join('').length <= UNSURE_TEXT_MAX &&
    rows.every(({ unsure }) => unsure.length < ofChunkMax);
  if (!areTold) return ask(funnelStatement(query, place, { reading, limits }));
  const some = { people, hours: [...new Set(rows.flatMap(({ unsureHours }) => unsureHours))] };
  return [...rows, ...(await ask(funnelStatement(query, place, { reading, some, limits })))];
}

function tooManyValues({ valuesMax }: FunnelLimits): RejectError {
  return new RejectError(
    'too-large',
    `breakdown: the events of step 1 have more than ${valuesMax} values; add filters, or choose a shorter range`,
  );
}
