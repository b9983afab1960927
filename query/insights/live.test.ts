import { expect, test } from 'vitest';
import { decodeHotQuestion, encodeHotAnswer } from '../../processor/hot.ts';
import { liveAnswer } from '../api.ts';
import { hotViewOver } from '../testing/hot-view.ts';
import { modelSite } from '../testing/owned-partitions.ts';
import { Zones } from '../time/zone.ts';
import { answerLiveDetails } from './live.ts';

test('details name an unknown country and a direct visit null, as the dimensions do', async () => {
  const owners = [
    { countries: [['', 2] as const, ['DE', 1] as const], referrers: [['', 3] as const] },
    { countries: [['', 2] as const], referrers: [['', 1] as const, ['Google', 1] as const] },
  ];
  const hot = hotViewOver(async (subject, bytes) => {
    const partition = Number(subject.slice('hot.'.length));
    const { kind } = decodeHotQuestion(bytes);
    if (kind === 'minutes') return encodeHotAnswer({ kind, partition, minutes: [] });
    return encodeHotAnswer({
      kind: 'live-details',
      visitors: 3 - partition,
      pages: [['/', 1]],
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
