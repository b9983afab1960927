import { expect, test } from 'vitest';
import { decodeHotQuestion, encodeHotAnswer, type LiveDetailsHead } from '../../processor/hot.ts';
import { liveAnswer } from '../api.ts';
import { hotViewOver } from '../testing/hot-view.ts';
import { modelSite } from '../testing/owned-partitions.ts';
import { Zones } from '../time/zone.ts';
import { answerLiveDetails } from './live.ts';

test('details name an unknown country and a direct visit null, as the dimensions do', async () => {
  const owners: readonly Partial<LiveDetailsHead>[] = [
    {
      countries: [
        ['', 2, []],
        ['DE', 1, []],
      ],
      referrers: [['', 3, []]],
    },
    {
      countries: [['', 2, []]],
      referrers: [
        ['', 1, []],
        ['Google', 1, []],
      ],
    },
  ];
  const hot = hotViewOver(async (subject, bytes) => {
    const partition = Number(subject.slice('hot.'.length));
    const { kind } = decodeHotQuestion(bytes);
    if (kind === 'minutes') return encodeHotAnswer({ kind, partition, minutes: [] });
    return encodeHotAnswer({
      kind: 'live-details',
      visitors: 3 - partition,
      profiles: [],
      pages: [['/', 1, []]],
      countries: [],
      referrers: [],
      ...owners[partition],
    });
  }, owners.length);
  const scope = { site: modelSite('site'), zone: new Zones().of('UTC'), nowMs: Date.now() };
  const answer = liveAnswer.parse(await answerLiveDetails(hot, scope));
  expect(answer.countries).toEqual([
    { country: null, visitors: 4 },
    { country: 'DE', visitors: 1 },
  ]);
  expect(answer.referrers).toEqual([
    { referrer: null, visitors: 4 },
    { referrer: 'Google', visitors: 1 },
  ]);
  expect(answer.pages).toEqual([{ path: '/', visitors: 2 }]);
});
