import { isDeepStrictEqual } from 'node:util';
import { expectedOf, momentOf, type Question } from './answers.ts';
import type { Asker } from './asker.ts';
import type { SiteModel } from './model.ts';
import type { Parameters } from './ranges.ts';

const TRIES = 3;

/** Asks one question and compares the answer with the model's; undefined where they agree, else the difference. */
export async function differenceOf(
  asker: Asker,
  site: string,
  model: SiteModel,
  question: Question,
): Promise<string | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const before = momentOf(model, question, Date.now());
    const answer = await asker.get(pathOf(site, question));
    const nowMs = Date.now();
    // The clock passed to another minute, hour or day meanwhile, so either answer may be right.
    if (before !== momentOf(model, question, nowMs) && attempt < TRIES) continue;
    const expected = expectedOf(model, question, nowMs);
    if (expected.kind === 'rejected')
      return answer.status === 400
        ? undefined
        : `${pathOf(site, question)}\n  expected 400, got ${answer.status}`;
    if (answer.status === 200 && isDeepStrictEqual(answer.body, expected.body)) return undefined;
    const path = decodeURIComponent(pathOf(site, question).replaceAll('+', ' '));
    if (answer.status !== 200) return `${path}\n  ${answer.status} ${JSON.stringify(answer.body)}`;
    return `${path}\n  ${firstDifference(expected.body, answer.body, '')}`;
  }
}

export function pathOf(site: string, { route, parameters, filters }: Question): string {
  const filtered = filters.length === 0 ? {} : { filters: JSON.stringify(filters) };
  return route.startsWith('export/')
    ? `/${route}?${queryOf({ projectId: site, ...parameters, ...filtered })}`
    : `/insights/${site}/${route}?${queryOf({ ...parameters, ...filtered })}`;
}

function queryOf(parameters: Parameters): string {
  const pairs = Object.entries(parameters).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
  return new URLSearchParams(pairs).toString();
}

/** The first difference between two answers. */
export function firstDifference(expected: unknown, actual: unknown, at: string): string {
  if (isObject(expected) && isObject(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    for (const key of keys) {
      if (!isDeepStrictEqual(expected[key], actual[key]))
        return firstDifference(expected[key], actual[key], `${at}.${key}`);
    }
  }
  return `${at || '.'}: expected ${shortly(expected)}, got ${shortly(actual)}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function shortly(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 400);
}
