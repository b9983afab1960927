import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AssertionError } from '../../infra/assert.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { EntityUpdate } from '../../ingest/entity-update.ts';
import { entityUpdates, group, identify, order, refund, step, tally } from '../entities/testing/updates.ts';
import { applyUpdate, type EntityDocument, OUTCOMES } from './document.ts';
import type { RecordedRevenue } from './order.ts';

test.each([
  ['profile', identify()],
  ['profile', step()],
  ['group', group()],
  ['order', order()],
  ['tally', tally()],
])('a record of kind %s is made by its updates', (kind, update) => {
  expect(applyUpdate(undefined, update, 5n)).toMatchObject({
    changed: true,
    outcome: 'applied',
    document: { kind, version: 5n },
    waitedOutcomes: [],
  });
});

test('an order returns the revenue to record and the outcomes of waiting refunds', () => {
  const { document } = applyUpdate(undefined, refund({ amount: '5' }), 1n);
  const result = applyUpdate(document, order(), 2n);
  expect(result.recorded.map(({ minorUnits }) => minorUnits)).toEqual([2000n, -500n]);
  expect(result.waitedOutcomes).toEqual(['applied']);
});

describe('a contradiction throws', () => {
  const profile = applyUpdate(undefined, identify(), 5n).document;
  test.each([
    ['an update of another kind', group(), 6n],
    ['an update of another record', identify({ id: 'two' }), 6n],
    ['an update of another site', identify({ projectId: storedId('shop') }), 6n],
    ['a version that runs backwards', identify(), 4n],
  ])('%s', (_name, update, version) => {
    expect(() => applyUpdate(profile, update, version)).toThrow(AssertionError);
  });
});

type Documents = ReadonlyMap<string, EntityDocument>;
type Messages = readonly (readonly EntityUpdate[])[];

interface Step {
  readonly documents: Documents;
  readonly recorded: readonly (RecordedRevenue & { readonly key: string })[];
}

/** Applies messages like a lane: a document skips the ones that it holds. */
function work(documents: Documents, messages: Messages, from: number): Step[] {
  let current = documents;
  return messages.slice(from).map((updates, index) => {
    const version = (7n << 32n) | BigInt(from + index + 1);
    const next = new Map(current);
    const recorded: (RecordedRevenue & { key: string })[] = [];
    for (const update of updates) {
      const key = keyOf(update);
      if ((current.get(key)?.version ?? 0n) >= version) continue;
      const result = applyUpdate(next.get(key), update, version);
      expect(OUTCOMES).toContain(result.outcome);
      if (result.changed) next.set(key, result.document);
      recorded.push(...result.recorded.map((revenue) => ({ ...revenue, key })));
    }
    current = next;
    return { documents: next, recorded };
  });
}

function keyOf({ kind, projectId, id }: EntityUpdate): string {
  return `${['identify', 'step', 'assign'].includes(kind) ? 'profile' : kind} ${projectId} ${id}`;
}

const messageLists = fc.array(fc.array(entityUpdates, { minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 12,
});

test('messages that come again after a crash change nothing, wherever the store was', () => {
  fc.assert(
    fc.property(messageLists, fc.nat(), fc.infiniteStream(fc.nat()), (messages, cut, random) => {
      const first = work(new Map(), messages, 0);
      const from = cut % (messages.length + 1);
      // The store has each entity as it was after some message from the checkpoint on, each after another one.
      const stored = new Map<string, EntityDocument>();
      for (const key of new Set(messages.flat().map(keyOf))) {
        const after = from - 1 + ((random.next().value ?? 0) % (messages.length - from + 1));
        const document = first[after]?.documents.get(key);
        if (document !== undefined) stored.set(key, document);
      }
      const again = work(stored, messages, from);
      expect(again.at(-1)?.documents ?? stored).toEqual(first.at(-1)?.documents);
      // Revenue recorded again was recorded by the same message, and all revenue that the store did not have is recorded.
      for (const [index, { recorded }] of again.entries()) {
        const version = (7n << 32n) | BigInt(from + index + 1);
        const missing = first[from + index]?.recorded.filter(
          ({ key }) => (stored.get(key)?.version ?? 0n) < version,
        );
        expect(recorded).toEqual(missing);
      }
    }),
    { numRuns: 200 },
  );
});

test('an entity does not depend on how its updates are grouped into messages', () => {
  const bare = (documents: Documents | undefined) =>
    [...(documents ?? [])].map(([key, document]) => [key, { ...document, version: 0n }]).sort();
  fc.assert(
    fc.property(messageLists, (messages) => {
      const whole = work(new Map(), [messages.flat()], 0).at(-1);
      const pieces = work(new Map(), messages, 0);
      expect(bare(whole?.documents)).toEqual(bare(pieces.at(-1)?.documents));
      expect(whole?.recorded).toEqual(pieces.flatMap(({ recorded }) => recorded));
    }),
    { numRuns: 100 },
  );
});

test('an entity does not depend on how updates of others are interleaved', () => {
  fc.assert(
    fc.property(fc.array(entityUpdates, { maxLength: 40 }), (updates) => {
      const together = work(
        new Map(),
        updates.map((update) => [update]),
        0,
      ).at(-1)?.documents;
      for (const [key, document] of together ?? []) {
        const own = updates.filter((update) => keyOf(update) === key);
        const alone = work(new Map(), [own], 0).at(-1)?.documents.get(key);
        expect({ ...document, version: 0n }).toEqual({ ...alone, version: 0n });
      }
    }),
    { numRuns: 100 },
  );
});
