import { expect, test } from 'vitest';
import { Metrics } from '../../infra/metrics.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Zones } from '../time/zone.ts';
import type { QuestionScope } from './question.ts';
import { SharedAnswers } from './shared-answers.ts';

const zone = new Zones().of('Europe/Berlin');
const site = modelSite('shop', 'Europe/Berlin', 'EUR');
const NO_DEFINITIONS = { segments: [], goals: [], references: [] };

function scopeOf(more: Partial<QuestionScope> = {}): QuestionScope {
  return { site, zone, nowMs: 1, definitions: { ...NO_DEFINITIONS }, ...more };
}

/** Answers that end when the test says so. */
function answers() {
  const begun: ((value: number) => void)[] = [];
  return { begun, answer: () => new Promise<number>((resolve) => begun.push(resolve)) };
}

test('equal questions of the same moment are answered once, and later ones anew', async () => {
  const shared = new SharedAnswers(new Metrics());
  const { begun, answer } = answers();
  const ask = (nowMs: number) =>
    shared.answer(
      { path: 'pages', scope: scopeOf({ nowMs }), parameters: { range: '30d', filters: [] } },
      answer,
    );
  const both = [ask(1), ask(2)];
  expect(begun).toHaveLength(1);
  begun[0]?.(7);
  expect(await Promise.all(both)).toEqual([7, 7]);
  const ended = ask(3);
  expect(begun).toHaveLength(2);
  // Long after the second one began, which still runs.
  await new Promise((resolve) => setTimeout(resolve, 120));
  const later = ask(4);
  expect(begun).toHaveLength(3);
  begun[1]?.(8);
  begun[2]?.(9);
  expect(await Promise.all([ended, later])).toEqual([8, 9]);
});

test.each([
  ['path', { path: 'metrics' }],
  ['parameter', { parameters: { range: '7d' } }],
  ['value in its path', { pathValues: { profileId: 'b' } }],
  ['site', { scope: scopeOf({ site: modelSite('blog', 'Europe/Berlin', 'EUR') }) }],
  ['setting of its site', { scope: scopeOf({ site: { ...site, currency: 'USD' } }) }],
  [
    'reference',
    {
      scope: scopeOf({
        definitions: {
          ...NO_DEFINITIONS,
          references: [{ id: 'a', title: 'Launch', description: '', date: '2026-11-01T00:00:00.000Z' }],
        },
      }),
    },
  ],
])('a question with another %s has its own answer', async (_, other) => {
  const shared = new SharedAnswers(new Metrics());
  const { begun, answer } = answers();
  const question = {
    path: 'pages',
    scope: scopeOf(),
    parameters: { range: '30d' },
    pathValues: { profileId: 'a' },
  };
  const both = [shared.answer(question, answer), shared.answer({ ...question, ...other }, answer)];
  expect(begun).toHaveLength(2);
  begun[0]?.(1);
  begun[1]?.(2);
  expect(await Promise.all(both)).toEqual([1, 2]);
});
