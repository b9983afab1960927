import { z } from 'zod';

/**
 * A list with at most `max` elements, which are counted before the first one is read: a schema reads every element, and
 * reports each wrong one, before it looks at the length.
 */
export function boundedList<Element extends z.ZodType>(
  list: z.ZodArray<Element>,
  max: number,
  problem: string,
) {
  const countFirst = (given: unknown, context: z.RefinementCtx) => {
    if (Array.isArray(given) && given.length > max) context.addIssue({ code: 'custom', message: problem });
    return given;
  };
  return z.preprocess(countFirst, list.max(max, problem));
}
