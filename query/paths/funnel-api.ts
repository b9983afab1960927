import { z } from 'zod';
import { boundedList } from '../../infra/http/bounded-list.ts';
import { common, flag, wholeNumber } from '../api.ts';
import { filtersOf, jsonText } from '../export/charts-api.ts';
import { type Filter, filterList } from '../filters/filter.ts';
import { fieldOf, type RowField } from '../filters/names.ts';

/** CONTRACT of `GET /insights/{projectId}/funnel`: its parameters and answer. */

export const STEPS_MIN = 2;
export const STEPS_MAX = 10;
const NAME_MAX = 80;
const WINDOW_HOURS_MAX = 720;
/** Maximum number of breakdown values in an answer: the values with the most users. */
export const BREAKDOWN_VALUES_MAX = 10;
/** Maximum number of events between two steps in an answer: the most frequent ones. */
export const BETWEEN_MAX = 3;

/** A step that is any event except the synthetic `session_start` and `session_end`. */
export const ANY_STEP = '*';

/** A step of a request. */
export interface FunnelStep {
  readonly name: string;
  readonly filters: readonly Filter[];
}

const stepName = z
  .string()
  .min(1, 'expected a non-empty string')
  .max(NAME_MAX, `expected at most ${NAME_MAX} characters`);

const stepField = z.strictObject({
  name: stepName.describe('The name of the event, or `*` for every event that was sent.'),
  filters: filterList
    .optional()
    .describe('What else must hold for the event to be this step, as in `filters`.'),
});

/** The steps of a funnel in a request. */
export const funnelSteps = boundedList(
  z
    .array(z.union([stepName, stepField], 'expected the name of an event, or {"name": …, "filters": […]}'))
    .min(STEPS_MIN, `expected at least ${STEPS_MIN} steps`),
  STEPS_MAX,
  `expected at most ${STEPS_MAX} steps`,
);

const readSteps = boundedList(
  z.array(z.unknown()),
  STEPS_MAX,
  `expected at most ${STEPS_MAX} steps`,
).transform((given, context): readonly FunnelStep[] => {
  const sized = funnelSteps.safeParse(given);
  if (sized.success)
    return sized.data.map((step) =>
      typeof step === 'string'
        ? { name: step, filters: [] }
        : { name: step.name, filters: filtersOf(step.filters, context) },
    );
  // A step has two forms, and only errors of the used form help.
  for (const [index, step] of given.entries()) {
    const parsed = (typeof step === 'object' ? stepField : stepName).safeParse(step);
    for (const { path, message } of parsed.error?.issues.slice(0, 1) ?? []) {
      context.addIssue({ code: 'custom', path: [index, ...path], message });
      return z.NEVER;
    }
  }
  context.addIssue({ code: 'custom', message: sized.error.issues[0]?.message ?? 'invalid' });
  return z.NEVER;
});

const breakdown = z
  .string()
  .transform((name, context): RowField => {
    const field = fieldOf(name);
    if (field?.owner === 'event' && field.kind !== 'list') return field;
    context.addIssue({
      code: 'custom',
      message: `${name.slice(0, 100)} is not an event field with one value; break down by one`,
    });
    return z.NEVER;
  })
  .optional()
  .describe(
    'Also return the funnel for the values of this event field, such as `country`, `path` or `properties.plan`. A user belongs to the value that the event of step 1 has. Not `groups`, facts of sessions, or fields of `profile.` and `group.` records.',
  );

/** `GET /insights/{projectId}/funnel` */
export const funnelQuery = z.object({
  ...common,
  steps: jsonText
    .pipe(readSteps)
    .describe(
      `${STEPS_MIN} to ${STEPS_MAX} steps in order. Each is the name of an event, or an object with a \`name\` and \`filters\`. \`*\` stands for every event except \`session_start\` and \`session_end\`, which are steps only when named.`,
    ),
  windowHours: wholeNumber(1, WINDOW_HOURS_MAX)
    .default(24)
    .describe('How long after the event of step 1 the last step may happen, in hours; the end is included.'),
  groupBy: z
    .enum(['session_id', 'profile_id'])
    .default('session_id')
    .describe(
      '`session_id`: a user of the funnel is a session. `profile_id`: a user is a visitor, over all of their sessions: the profile of the session, else of the event, else the device.',
    ),
  breakdown,
  between: flag.describe(
    'Also return the most frequent events between the steps. The question then reads every event of the range, and takes longer.',
  ),
});
export type FunnelQuery = z.output<typeof funnelQuery>;

const reached = {
  step: z.number().describe('The number of the step, from 1.'),
  eventName: z.string().describe('The name of the event, as requested.'),
  users: z.number().describe('Users whose best run reached this step.'),
  conversionRateFromStart: z
    .number()
    .describe('Percent of the users of step 1. Two decimals; 0 without users.'),
  conversionRateFromPrevious: z
    .number()
    .describe('Percent of the users of the step before; for step 1, of its own users.'),
  dropoffPercent: z
    .number()
    .describe('Percent of the users of the step before who did not reach this one; 0 for step 1.'),
  isHighestDropoff: z
    .boolean()
    .describe(
      'Whether this step loses the greatest share of users; of equal ones the first. No step if none loses any.',
    ),
};

const totals = {
  totalUsers: z.number().describe('Users of step 1.'),
  completedUsers: z.number().describe('Users of the last step.'),
  overallConversionRate: z.number().describe('Percent of the users of step 1 who reached the last step.'),
};

const between = z.object({
  p50Seconds: z
    .number()
    .describe(
      'Seconds from the event of the previous step to this one, of the users who reached it: the element at `floor(n × 0.5)` of the n sorted times, counted from 0.',
    ),
  p90Seconds: z.number().describe('The same at `floor(n × 0.9)`.'),
  events: z
    .array(
      z.object({
        name: z.string().describe('The name of the event.'),
        events: z.number().describe('How often it happened between the two steps, of all these users.'),
      }),
    )
    .optional()
    .describe(
      'With `between=true`: the three most frequent events between the events of the two steps, most frequent first, ties by name. Events that may be a step of the funnel, `session_start` and `session_end` do not count.',
    ),
});

const funnelStep = z.object({
  ...reached,
  between: between
    .optional()
    .describe(
      'What happens on the way from the previous step. Absent for step 1 and for a step without users.',
    ),
});
export type FunnelStepAnswer = z.output<typeof funnelStep>;

/** Steps, totals, and the same by value. */
export const funnelAnswer = z.object({
  steps: z.array(funnelStep).describe('The requested steps, in order.'),
  ...totals,
  breakdown: z
    .array(
      z.object({
        value: z.string().nullable().describe('The value of the field; null when it is unknown.'),
        steps: z.array(z.object(reached)).describe('The same steps, of users with this value.'),
        ...totals,
      }),
    )
    .optional()
    .describe(
      `With \`breakdown\`: the ${BREAKDOWN_VALUES_MAX} values with most users of step 1, most users first, ties by value.`,
    ),
  breakdownValues: z
    .number()
    .optional()
    .describe('With `breakdown`: how many values there are, of which `breakdown` has the first.'),
  partial: z
    .literal(true)
    .optional()
    .describe('Present when data could not be reached and the request has `partial=true`.'),
});
export type FunnelAnswer = z.output<typeof funnelAnswer>;
