import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { type Backfill, type Integration, integrationKeyOf } from '../../../processor/integration.ts';
import { type AnyEndpoint, anyEndpoint } from '../../http/serve.ts';
import { RejectError } from '../../reject.ts';
import { type EndpointDeps, nowText } from '../manage.ts';
import { noParameters } from '../parameters.ts';
import { answerEntry, type ControlRecordKind, changeRecord, entryOf } from '../record-kind.ts';
import { backfillRequest, integrationAnswer, trialAnswer } from './integration-api.ts';
import { backfillsOf } from './integration-status.ts';
import { Trials } from './integration-trial.ts';

const WAITING_MAX = 20;
/** Backfills that are done are remembered, so that people see what became of them; the oldest go first. */
const DONE_MAX = 50;

/** What can be done with an integration, below its own path `one`. */
export function integrationActions(
  deps: EndpointDeps,
  kind: ControlRecordKind<Integration>,
  one: string,
): AnyEndpoint[] {
  const trials = new Trials(deps.bucketOf);
  const action = { method: 'post' as const, area: 'manage' as const, schema: noParameters };
  const pausing = (word: string, paused: boolean, description: string) =>
    anyEndpoint({
      ...action,
      pattern: `${one}/${word}`,
      kind: `manage-integration-${word}`,
      about: {
        summary: `${paused ? 'Pause' : 'Resume'} an integration`,
        description,
        answer: integrationAnswer,
      },
      body: undefined,
      answer: async (call) =>
        answerEntry(kind, await changeRecord(deps, kind, call, (current) => ({ ...current, paused }))),
    });
  return [
    anyEndpoint({
      ...action,
      pattern: `${one}/test`,
      kind: 'manage-integration-test',
      about: {
        summary: 'Try the bucket of an integration out',
        description:
          'Writes a small object `footfall-test-<uuid>` below the prefix with the key that is kept, reads it back and removes it; each within 3 seconds. What the bucket refuses is said in the answer, whose status is 200 nevertheless. To bring events, the right to write is enough; without that to remove, the object stays. 503 while the same integration, or four others, are being tested.',
        answer: trialAnswer,
      },
      body: undefined,
      answer: async (call) => ({ json: { data: await trials.run(entryOf(kind, call).value) } }),
    }),
    pausing(
      'pause',
      true,
      'Nothing more is begun; what is begun may still be committed. Nothing is lost: what is recorded meanwhile is brought after resume. Pausing twice is no error.',
    ),
    pausing(
      'resume',
      false,
      'It goes on where it was when it was paused. Resuming what is not paused is no error.',
    ),
    anyEndpoint({
      ...action,
      pattern: `${one}/backfill`,
      kind: 'manage-integration-backfill',
      about: {
        summary: 'Have the events of past days brought, too',
        description:
          'Those that were recorded before the integration was made, by the day in UTC on which they happened. Days that were brought already are not brought again, so days may be backfill for twice. One backfill after the other, a day at a time; at most 20 may wait.',
        answer: integrationAnswer,
      },
      body: backfillRequest,
      answer: async (call) => {
        rejectDaysAfter(nowText(deps.clock), call.body);
        const backfill = { id: randomUUID(), ...call.body, requestedAt: nowText(deps.clock) };
        const entry = await changeRecord(deps, kind, call, (current) => ({
          ...current,
          backfills: withBackfill(deps, current, backfill),
        }));
        return answerEntry(kind, entry);
      },
    }),
  ];
}

function rejectDaysAfter(now: string, { to }: z.output<typeof backfillRequest>): void {
  if (to > now.slice(0, 10)) throw new RejectError('invalid', 'to: expected a day that is not after today');
}

/** The backfills of an integration with one more, without the oldest of those that are done. */
function withBackfill({ deliveries }: EndpointDeps, current: Integration, backfill: Backfill): Backfill[] {
  const shown = backfillsOf(current, deliveries.get(integrationKeyOf(current.id)));
  const done = new Set(shown.filter(({ state }) => state === 'done').map(({ id }) => id));
  if (shown.length - done.size >= WAITING_MAX)
    throw new RejectError(
      'invalid',
      `body: there are ${WAITING_MAX} backfills to be done already, which is the most; wait for one`,
    );
  const dropped = new Set([...done].slice(0, Math.max(0, done.size - DONE_MAX)));
  return [...current.backfills.filter(({ id }) => !dropped.has(id)), backfill];
}
