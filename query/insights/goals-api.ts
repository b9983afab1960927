import { z } from 'zod';
import { common } from '../api.ts';
import { GOAL_TYPES } from '../definitions/definition-records.ts';

/** CONTRACT with clients about goals. */

/** `GET /insights/{projectId}/goals` */
export const goalsQuery = z.object({ ...common });
export type GoalsQuery = z.output<typeof goalsQuery>;

/** Conversions descending, ties by name. */
export const goalFiguresAnswer = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    type: z.enum(GOAL_TYPES),
    conversions: z
      .number()
      .describe(
        'Sessions that began in the range, match the filters, and have at least one event of the goal in the range.',
      ),
    converted_visitors: z.number().describe('Distinct visitors of these sessions.'),
    conversion_rate: z
      .number()
      .describe('Percent of the sessions that began in the range and match the filters; 0 without any.'),
    conversion_value: z
      .number()
      .describe("The value of the goal times `conversions`, in major units of the site's currency."),
  }),
);
export type GoalFiguresAnswer = z.output<typeof goalFiguresAnswer>;
