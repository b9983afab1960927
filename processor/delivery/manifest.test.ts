import { expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { type Delivery, type DeliveryStep, deliverySchema, firstDelivery } from '../integration.ts';
import { fileKeyOf, fileStartOf, manifestKeyOf, manifestOf } from './manifest.ts';

const ID = '6b0c7f0e-8d0e-4c53-9a2b-1f6f6f1f7a11';
const INTEGRATION = { id: ID, prefix: 'a/b', projectId: 'shop/größe', format: 'parquet' } as const;
const HOUR = Date.UTC(2026, 1, 7, 9) / HOUR_MS;
const SHA256 = '0123456789abcdef'.repeat(4);
const FILE = {
  hour: HOUR,
  part: 2,
  rows: 3,
  bytes: 400,
  sha256: SHA256,
  from: '2026-02-07T09:00:00.000Z',
  to: '2026-02-07T09:59:59.999Z',
};

function delivered(step: DeliveryStep): Delivery {
  // The delivery as a reader parses it.
  return deliverySchema.parse(JSON.parse(JSON.stringify({ ...firstDelivery(ID, [1, 5]), step })));
}

test('a file lies by site, day and hour, under a name with its step, its part and its hash', () => {
  expect(fileKeyOf(INTEGRATION, 12, FILE)).toBe(
    `a/b/events/site=shop%2Fgr%C3%B6%C3%9Fe/date=2026-02-07/hour=09/${ID}-000000012-002-0123456789abcdef.parquet`,
  );
  expect(fileKeyOf({ ...INTEGRATION, prefix: '', projectId: 'shop', format: 'ndjson_gzip' }, 1, FILE)).toBe(
    `events/site=shop/date=2026-02-07/hour=09/${ID}-000000001-002-0123456789abcdef.ndjson.gz`,
  );
  expect(fileKeyOf(INTEGRATION, 12, FILE).startsWith(fileStartOf(INTEGRATION, 12, HOUR))).toBe(true);
  expect(fileKeyOf(INTEGRATION, 123, FILE).startsWith(fileStartOf(INTEGRATION, 12, HOUR))).toBe(false);
});

test('a manifest lies by integration, in the order of steps', () => {
  expect(manifestKeyOf(INTEGRATION, 12)).toBe(`a/b/manifests/${ID}/000000012.json`);
  expect(manifestKeyOf({ ...INTEGRATION, prefix: '' }, 1_000)).toBe(`manifests/${ID}/000001000.json`);
});

const WORK = { sequence: 1, hours: [HOUR], files: [FILE, { ...FILE, part: 3, rows: 2 }] };
const NEW: DeliveryStep = {
  kind: 'new',
  ...WORK,
  flushed: [2, 5],
  until: '2026-02-07T10:00:00.000Z',
  restFrom: null,
};
const FILES = [2, 3].map((part) => ({
  key: fileKeyOf(INTEGRATION, 1, { ...FILE, part }),
  rows: part === 2 ? 3 : 2,
  bytes: 400,
  sha256: SHA256,
  hour: '2026-02-07T09',
  from: FILE.from,
  to: FILE.to,
}));
const COMMON = { version: 1, integrationId: ID, projectId: 'shop/größe', sequence: 1, rows: 5, files: FILES };

test.each<[string, DeliveryStep, object]>([
  [
    'of new events',
    NEW,
    { ...COMMON, kind: 'new', flushed: { from: [1, 5], to: [2, 5] }, until: '2026-02-07T10:00:00.000Z' },
  ],
  [
    'of new events that are not all',
    { ...NEW, restFrom: HOUR + 1 },
    { ...COMMON, kind: 'new', flushed: { from: [1, 5], to: [2, 5] }, until: null },
  ],
  [
    'of a backfill',
    { kind: 'backfill', ...WORK, backfillId: ID, day: '2026-02-07' },
    { ...COMMON, kind: 'backfill', day: '2026-02-07' },
  ],
])('a manifest %s says what it is about and which files hold it', (_name, step, manifest) => {
  expect(manifestOf(INTEGRATION, delivered(step))).toEqual(manifest);
});
