import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { type Backfill, type Integration, integrationKeyOf } from '../../../processor/integration.ts';
import { type AnyEndpoint, anyEndpoint } from '../../http/serve.ts';
import { RejectError } from '../../reject.ts';
import { type EndpointDeps, nowText } from '../manage.ts';
import { noFields, noParameters } from '../parameters.ts';
import { answerEntry, type ControlRecordKind, changeRecord, entryOf } from '../record-kind.ts';
import { backfillRequest, integrationAnswer, trialAnswer } from './integration-api.ts';
import { backfillsOf } from './integration-status.ts';
import { Trials } from './integration-trial.ts';

const WAITING_MAX = 20;
/** Completed backfills stay listed so that people see their outcome; beyond this number the oldest are removed. */
const DONE_MAX = 50;

/** The action endpoints below the path `one` of an integration. */
export function integrationActions(
  deps: EndpointDeps,
  kind: ControlRecordKind<Integration>,
  one: string,
): AnyEndpoint[] {
  const trials = new Trials(deps.bucketOf);
  const action = { method: 'post' as const, area: 'manage' as const, schema: noParameters };
  const bodiless = { body: noFields, isBodyOptional: true };
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
      ...bodiless,
      answer: async (call) =>
        answerEntry(kind, await changeRecord(deps, kind, call, (current) => ({ ...current, paused }))),
    });
  return [
    anyEndpoint({
      ...action,
      pattern: `${one}/test`,
      kind: 'manage-integration-test',
      about: {
        summary: 'Test an integration',
        description:
          'Writes a small object `footfall-test-<uuid>` below the prefix with the stored key, reads it back and removes it. Each step may take up to 3 seconds. Always returns 200; `ok` and `failure` report the result. Delivery needs write permission only; without delete permission the test object remains in the bucket. Returns 503 while the same integration or four others are being tested.',
        answer: trialAnswer,
      },
      ...bodiless,
      answer: async (call) => ({ json: { data: await trials.run(entryOf(kind, call).value) } }),
    }),
    pausing(
      'pause',
      true,
      'Starts no further files; a file already started may still be committed. No events are lost: delivery continues after resume. Has no effect on a paused integration.',
    ),
    pausing(
      'resume',
      false,
      'Continues delivery where it was paused. Has no effect on a running integration.',
    ),
    anyEndpoint({
      ...action,
      pattern: `${one}/backfill`,
      kind: 'manage-integration-backfill',
      about: {
        summary: 'Backfill past days',
        description:
          'Delivers events recorded before the integration was created, by the UTC day on which they happened. Days already delivered are skipped, so ranges may overlap. Backfills run one after another, day by day. Maximum: 20 waiting backfills, 3,660 days each.',
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
  if (to > now.slice(0, 10)) throw new RejectError('invalid', 'to: expected today or an earlier day, in UTC');
}

/** Appends a backfill and removes the oldest completed ones beyond `DONE_MAX`. */
function withBackfill({ deliveries }: EndpointDeps, current: Integration, backfill: Backfill): Backfill[] {
  const shown = backfillsOf(current, deliveries.get(integrationKeyOf(current.id)));
  const done = new Set(shown.filter(({ state }) => state === 'done').map(({ id }) => id));
  if (shown.length - done.size >= WAITING_MAX)
    throw new RejectError(
      'invalid',
      `body: limit of ${WAITING_MAX} waiting backfills reached; try again after one is done`,
    );
  const dropped = new Set([...done].slice(0, Math.max(0, done.size - DONE_MAX)));
  return [...current.backfills.filter(({ id }) => !dropped.has(id)), backfill];
}
