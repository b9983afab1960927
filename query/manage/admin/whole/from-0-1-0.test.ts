import { expect, test } from 'vitest';
import { storedId } from '../../../../infra/testing/ids.ts';
import { ALIASES_BUCKET, aliasKeyOf, decodeAlias, encodeAlias } from '../../../../ingest/entity-update.ts';
import { problemOf } from '../record-kinds.ts';
import { areBaseline, areFilesOfFormer, entryOfToday } from './from-0-1-0.ts';
import { rejectOtherRelease } from './whole-restore.ts';

/** The files of `processor/schema` in the manifest of a backup of 0.1.0. */
const FILES = [
  ['001_events.sql', '4fef778ce31b817f870984ee6144bcb08cc3831eb5e272a20569df6baab57d2a'],
  ['002_sessions.sql', '47a4ee1a9c477bae81cab1e00825606412cba26d142398b217f21e1e45fd9461'],
  ['003_ended_sessions.sql', '5e5ae0a95fb2e2592441c18b1f171c9346fcc91dfbe667a7ba47c3cc6d15bcaf'],
  ['004_records.sql', '1f3856b8c9db13e8bea650273dd3e22b10bf78746b74b085f5440db0fe991c39'],
  ['005_rollups.sql', 'c39f226088260acc141abd9247ee78148c1a50ca14fafd1aaab69bffe2dca7a4'],
  ['006_codecs.sql', '92973c6dcdc96d165108ccb6e932ffca65d075574c3c035d098a97b736c4ee4b'],
  ['007_event_ids.sql', 'f66ca756e4276c89a49ed09ec79528cdd081363a3a95db5d0e3fd9f42c874cd2'],
  ['008_daily_sums.sql', '221a8defcaf6659568fb1ad064248fcd647fb30a01aaeb5e844f84b0c2fd5a11'],
  ['009_erasing.sql', '0a16432886c6cc4210547a7236e569365d21eedf0acba04bff24f07e1da6f199'],
  ['010_search_console.sql', 'a25bd245ea54c0464a3961b0c75228cae43efc917aaad0389c86081ee54b93a9'],
  ['011_flush_index.sql', '4fd80b24d686e5630971d1f35f05dc2ce5595f834f708121630bd49b3094ff72'],
  ['012_locales.sql', '1464d7cbc26b83447cffbe8da628978b1f7a2ae84abf95054c9bf796d9107a4a'],
  ['013_mixed_sessions.sql', 'a86ccb62fcd2db62e64ae391bac36d0737b66080eab07267425b44020d589add'],
  ['014_order_answers.sql', 'cc6ea8eae1be2b2f74bc2f29d1e1f673283d7b3270630c4b409e6edf33e4c7c1'],
  ['015_entity_devices.sql', 'f5c0638e34ee34cf05f4a68bb784a766aee2735f8cc653c6e6fff39613affb91'],
  ['016_old_parts.sql', 'aafea46729b304a951766d91f744d0febf45236ac3024f63a276f994d48d6518'],
  ['017_names.sql', '5072e344bad5d8c7fb2fa8102c4f13a5ff9cb55c148132006edcbf937c77f55f'],
  ['018_thinned_sessions.sql', '7cecd35026372447e49bef0680ea178f36d35231746a4b360b84039f25d714f5'],
  ['019_times.sql', '20268712bdbdc1432a36f553896bec8a20c2805d20e9bd474c6b104ef12a47ec'],
  ['020_profile_index.sql', 'b430bd7a897633d5f5f08a6e5e37a61e06776965168b0eedd5a46ab076c472e1'],
  ['021_alone_index.sql', 'ee6588328228949861ea90f6f23f37cb821719266e07219ffdaa7111322f1259'],
  ['022_profile_search.sql', 'fd7bd6aacd0ddda35173cfe97429a8c0a307032b64728514f2fe33f9b2fd1d8a'],
].map(([name = '', hash = '']) => ({ name, hash }));

test('the files of 0.1.0 are known, and no others', () => {
  expect(areFilesOfFormer(FILES)).toBe(true);
  expect(areFilesOfFormer(FILES.slice(0, -1))).toBe(false);
  expect(areFilesOfFormer(FILES.map((file, index) => (index === 7 ? { ...file, hash: 'b' } : file)))).toBe(
    false,
  );
  expect(areFilesOfFormer([])).toBe(false);
});

test('the baseline is everything up to its last file', () => {
  const files = [
    { name: '100_events.sql', hash: 'a' },
    { name: '119_search_console.sql', hash: 'b' },
  ];
  expect(areBaseline(files)).toBe(true);
  expect(areBaseline([...files, { name: '120_more.sql', hash: 'c' }])).toBe(false);
  expect(areBaseline(FILES)).toBe(false);
});

test('a restore takes a backup of 0.1.0 into the baseline, and of other releases only into the same', () => {
  const baseline = [
    { name: '100_events.sql', hash: 'a' },
    { name: '119_search_console.sql', hash: 'b' },
  ];
  const later = [...baseline, { name: '120_more.sql', hash: 'c' }];
  for (const [of, into] of [
    [FILES, baseline],
    [baseline, baseline],
    [later, later],
  ] as const)
    expect(() => rejectOtherRelease({ migrations: of }, into)).not.toThrow();
  for (const [of, into] of [
    [FILES, later],
    [FILES.slice(1), baseline],
    [baseline, later],
    [later, baseline],
    [baseline, baseline.map((file) => ({ ...file, hash: 'd' }))],
  ] as const)
    expect(() => rejectOtherRelease({ migrations: of }, into)).toThrow(
      'the backup was made by another release',
    );
});

const NAMES = { projectId: storedId('demo'), alias: 'anon', profileId: 'ada' };
const key = aliasKeyOf(NAMES);
const entryOf = (json: object, bucket: 'aliases' | 'control' = ALIASES_BUCKET) => ({
  bucket,
  key,
  bytes: Buffer.from(JSON.stringify(json)),
});

test.each<[string, object, boolean, string | null]>([
  [
    'version 2',
    { version: 2, ...NAMES, verified: true, createdAt: '2026-01-05T09:00:00.000Z' },
    true,
    '2026-01-05T09:00:00.000Z',
  ],
  ['version 2 without a time', { version: 2, ...NAMES, verified: true }, true, null],
  ['version 1, which any browser could make', { version: 1, ...NAMES, verified: true }, false, null],
  ['no version', NAMES, false, null],
])('an alias of %s is read after it came over', (_, record, verified, createdAt) => {
  const former = entryOf(record);
  const entry = entryOfToday(former);
  expect(problemOf(entry)).toBeUndefined();
  expect(decodeAlias(entry.bytes)).toEqual({ ...NAMES, verified, createdAt });
  expect(entry.bytes).toEqual(encodeAlias({ ...NAMES, verified, createdAt }));
});

test('other records, and what is no alias, stay as they are', () => {
  for (const entry of [
    entryOf({ version: 2, ...NAMES }, 'control'),
    entryOf({ version: 3, ...NAMES }),
    entryOf([]),
  ])
    expect(entryOfToday(entry)).toBe(entry);
});
