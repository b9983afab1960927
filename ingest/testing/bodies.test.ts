import { expect, test } from 'vitest';
import { BODY_MAX_BYTES, type ParsedBody, parseBatchBody, parseTrackBody } from '../request/track-request.ts';
import { bodiesFrom } from './bodies.ts';
import { verdictOf, verdictsOf } from './schema-verdict.ts';

const SEED = 20_240_229;
const BODIES = 200_000;
const COMPARED = 5_000;
/** Kinds of bodies and reasons to reject them. */
const VERDICTS = [
  'alias',
  'assign_group',
  'group',
  'identify',
  'not-json',
  'not-utf8',
  'replay',
  'revenue',
  'schema',
  'step',
  'too-large',
  'track',
];

function bodies(seed: number, count: number): Buffer[] {
  const from = bodiesFrom(seed);
  return Array.from({ length: count }, () => from.next().value);
}

function verdict(body: ParsedBody): string {
  if (body.kind === 'reject') return body.reason;
  return body.kind === 'track' && body.revenue !== undefined ? 'revenue' : body.kind;
}

test('the same seed gives the same bodies, another seed others', () => {
  expect(bodies(1, 200)).toEqual(bodies(1, 200));
  expect(bodies(1, 200)).not.toEqual(bodies(2, 200));
});

test(`${BODIES} bodies are all accepted or rejected, each way and for each reason`, {
  timeout: 240_000,
}, () => {
  const alone = new Map<string, number>();
  const inBatch = new Map<string, number>();
  const countIn = (counts: Map<string, number>, name: string) =>
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const from = bodiesFrom(SEED);
  for (let index = 0; index < BODIES; index += 1) {
    const bytes = from.next().value;
    // Some bodies go to the wrong endpoint.
    const isBatch = (bytes[0] === 0x5b) !== (index % 16 === 0);
    const parsed = isBatch ? parseBatchBody(bytes) : parseTrackBody(bytes);
    if (parsed.kind === 'batch') for (const body of parsed.bodies) countIn(inBatch, verdict(body));
    else countIn(alone, isBatch ? `batch ${verdict(parsed)}` : verdict(parsed));
  }
  const ofBatches = ['not-json', 'not-utf8', 'schema'].map((name) => `batch ${name}`);
  expect([...alone.keys()].sort()).toEqual(
    [...VERDICTS.filter((name) => name !== 'too-large'), ...ofBatches].sort(),
  );
  expect([...inBatch.keys()].sort()).toEqual(
    VERDICTS.filter((name) => name !== 'not-json' && name !== 'not-utf8'),
  );
  expect(Math.min(...alone.values(), ...inBatch.values())).toBeGreaterThan(50);
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});

test(`parser and schema agree on ${COMPARED} bodies`, { timeout: 120_000 }, () => {
  for (const bytes of bodies(SEED + 1, COMPARED)) {
    const json = bytes.toString('latin1', 0, 2_000);
    const byHand = parseTrackBody(bytes);
    expect(byHand.kind === 'reject' ? undefined : byHand, json).toStrictEqual(verdictOf(bytes));
    const batch = parseBatchBody(bytes);
    const bySchema = verdictsOf(bytes);
    if (batch.kind !== 'batch') expect(bySchema, json).toBeUndefined();
    // Bodies that are too large or too deep are not parsed, so it is not seen if they are JSON.
    else if (bySchema === undefined) expect(batch.bodies.some(isUnread), json).toBe(true);
    if (batch.kind !== 'batch' || bySchema === undefined) continue;
    expect(batch.bodies).toHaveLength(bySchema.length);
    for (const [index, { element, accepted }] of bySchema.entries()) {
      const body = batch.bodies[index];
      if (body?.kind !== 'reject') expect(body, json).toStrictEqual(accepted);
      else if (body.reason !== 'too-large') expect(accepted, json).toBeUndefined();
      else expect(Buffer.byteLength(JSON.stringify(element))).toBeGreaterThan(BODY_MAX_BYTES);
    }
  }
});

function isUnread(body: ParsedBody): boolean {
  return body.kind === 'reject' && (body.reason === 'too-large' || body.message.includes('levels'));
}
