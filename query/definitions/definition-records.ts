import { z } from 'zod';
import { filterSchema, storedFilterList } from '../filters/filter.ts';
import { nameField, ofSite, stored } from './record-fields.ts';

/** CONTRACT of the manage API: segments and goals of a site, as stored and as returned. */

const EVENT_MAX = 256;
/** Each character of a pattern may need another one before it in a regular expression, which has 512 at most. */
export const PATTERN_MAX = 200;
const VALUE_MAX = 1_000_000_000;
/** More than the filters and the other fields. */
export const DEFINITION_BODY_MAX_BYTES = 131_072;

export const SEGMENTS_MAX = 100;
export const GOALS_MAX = 50;

const uniqueName = nameField.describe(
  'Unique among those of the site. Requests may name it in place of the id.',
);

const filtersField = storedFilterList.describe(
  'All of them must match. The same filters as in the parameter `filters`, with the same limits.',
);

export const segmentShown = z.object({
  ...ofSite,
  name: z.string(),
  filters: z.array(filterSchema).describe('All of them must match.'),
});
export const segmentSchema = segmentShown.extend(stored);
export type SegmentRecord = z.output<typeof segmentSchema>;
export const segmentAnswer = z.object({ data: segmentShown });
export const segmentsAnswer = z.object({ data: z.array(segmentShown) });

/** `POST /manage/projects/{projectId}/segments` */
export const segmentCreation = z.strictObject({
  name: uniqueName,
  filters: filtersField.refine((filters) => filters.length > 0, 'expected at least one filter'),
});

/** `PATCH /manage/projects/{projectId}/segments/{segmentId}` */
export const segmentChange = segmentCreation.partial();

export const GOAL_TYPES = ['event', 'page'] as const;
export type GoalType = (typeof GOAL_TYPES)[number];

const typeField = z
  .enum(GOAL_TYPES)
  .describe('`event`: an event of a name. `page`: a screen view of a path. Fixed once created.');

export const goalShown = z.object({
  ...ofSite,
  name: z.string(),
  type: typeField,
  event: z.string().nullable().describe('The name of the event; null for a goal of type `page`.'),
  path: z
    .string()
    .nullable()
    .describe('The path, or a pattern of it with `*`; null for a goal of type `event`.'),
  filters: z.array(filterSchema).describe('What the event, or the screen view, must also pass.'),
  value: z
    .number()
    .nullable()
    .describe("What a conversion is worth, in major units of the site's currency; null without a value."),
});
export const goalSchema = goalShown.extend(stored);
export type GoalRecord = z.output<typeof goalSchema>;
export const goalAnswer = z.object({ data: goalShown });
export const goalsAnswer = z.object({ data: z.array(goalShown) });

const goalFields = {
  name: uniqueName,
  event: z
    .string()
    .min(1, 'expected a non-empty string')
    .max(EVENT_MAX, `expected at most ${EVENT_MAX} characters`)
    .describe('The exact name of the event. Required for the type `event`, and only allowed there.'),
  path: z
    .string()
    .min(1, 'expected a non-empty string')
    .max(PATTERN_MAX, `expected at most ${PATTERN_MAX} characters`)
    .describe(
      'The path of the screen view: exactly this one, or with `*`, each of which stands for any characters or none, slashes included. Upper and lower case differ. Required for the type `page`, and only allowed there.',
    ),
  filters: filtersField.refine(
    (filters) => filters.length <= 20,
    'expected at most 20 filters, since those of a question come on top',
  ),
  value: z
    .number()
    .min(0, 'expected at least 0')
    .max(VALUE_MAX, `expected at most ${VALUE_MAX}`)
    .nullable()
    .describe("What a conversion is worth, in major units of the site's currency. Null: nothing."),
};

/** `POST /manage/projects/{projectId}/goals` */
export const goalCreation = z
  .strictObject({
    ...goalFields,
    type: typeField,
    event: goalFields.event.optional(),
    path: goalFields.path.optional(),
    filters: goalFields.filters.default([]),
    value: goalFields.value.default(null),
  })
  .superRefine((given, context) => {
    const own = given.type === 'event' ? 'event' : 'path';
    if (given[own] === undefined)
      context.addIssue({
        code: 'custom',
        path: [own],
        message: `missing; required by the type ${given.type}`,
      });
  });

/** `PATCH /manage/projects/{projectId}/goals/{goalId}`; given fields replace the stored ones. */
export const goalChange = z.strictObject(goalFields).partial();
export type GoalChange = z.output<typeof goalChange>;
