import { z } from 'zod';

/** CONTRACT with clients about segments, goals and references: parameters and fields that many questions share. */

const SEGMENTS_NAMED_MAX = 5;

/** Segments, which the endpoint resolves: it adds their filters to `filters`, so that no question looks at them. */
export const segmentField = z
  .union([z.string(), z.array(z.string())])
  .default([])
  .transform((names) => (typeof names === 'string' ? [names] : names))
  .pipe(z.array(z.string()).max(SEGMENTS_NAMED_MAX, `expected at most ${SEGMENTS_NAMED_MAX} segments`))
  .describe(
    `Segments of the site, each by its id or exact name; repeat the parameter for up to ${SEGMENTS_NAMED_MAX}. Their filters must all match, besides those of \`filters\`; the limits of \`filters\` hold for all of them together. An unknown or deleted segment is 400.`,
  );

/** A goal whose conversions are counted. */
export const goalField = z
  .string()
  .optional()
  .describe(
    'A goal of the site, by its id or exact name: each set of figures then also has its conversions. Order and pages of rows do not depend on it. Its filters count towards the limits of `filters`. An unknown or deleted goal is 400.',
  );

/** The figures of a set of sessions that a goal adds. */
export const conversionFigures = {
  conversions: z
    .number()
    .optional()
    .describe(
      'With `goal`, like the next three: the sessions of this row that have at least one event of the goal in the same range; those of a bucket began in it, and may have the event in a later one. The event of the goal need not match the filters itself.',
    ),
  converted_visitors: z
    .number()
    .optional()
    .describe(
      'Distinct visitors of these sessions: the profile, or the device of a session without a profile.',
    ),
  conversion_rate: z
    .number()
    .optional()
    .describe('Percent of the sessions of this row, 0 to 100; 0 without any.'),
  conversion_value: z
    .number()
    .optional()
    .describe(
      "The value of the goal times `conversions`, in major units of the site's currency; 0 without a value.",
    ),
};

/** The most references of a series; `/references` has all of them. */
export const REFERENCES_SHOWN_MAX = 100;

/** A date to mark on charts of a site. */
export const referenceShown = z.object({
  id: z.string(),
  title: z.string(),
  description: z.string().describe('Empty if there is none.'),
  date: z.string().describe('ISO 8601, UTC.'),
});
export type ReferenceShown = z.output<typeof referenceShown>;

/** The references in the range of a series. */
export const referencesInRange = z
  .array(referenceShown)
  .describe(
    `The references of the site in the range, oldest first: dates to mark on the chart. The newest ${REFERENCES_SHOWN_MAX}, if there are more; \`GET /insights/{projectId}/references\` has all.`,
  );
