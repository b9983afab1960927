import type { z } from 'zod';
import { RejectError } from '../reject.ts';

const PARAMETERS_MAX = 200;

/** Reads the query string by `schema`. Throws a `RejectError` that names the first invalid parameter. */
export function readParameters<Parameters>(query: string, schema: z.ZodType<Parameters>): Parameters {
  const given = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (value === '') continue;
    const before = given.get(name);
    if (before === undefined) given.set(name, value);
    else if (typeof before === 'string') given.set(name, [before, value]);
    else before.push(value);
    if (given.size > PARAMETERS_MAX) throw new RejectError('invalid', 'too many parameters');
  }
  const parsed = schema.safeParse(Object.fromEntries(given));
  if (parsed.success) return parsed.data;
  throw new RejectError('invalid', firstProblem(parsed.error, 'query'));
}

/** The first problem and its path: `series.0.name: …`; `whole` names a problem without a path. */
export function firstProblem(error: z.ZodError, whole: string): string {
  const issue = error.issues[0];
  if (issue === undefined) return `${whole}: invalid`;
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const place = [...issue.path, ...(unknown === undefined ? [] : [unknown])].map(String).join('.');
  return `${place || whole}: ${unknown === undefined ? issue.message : 'no such field'}`;
}
