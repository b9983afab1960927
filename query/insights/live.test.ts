import { expect, test } from 'vitest';
import { decodeHotQuestion, encodeHotAnswer, type LiveDetailsHead } from '../../processor/hot.ts';
import { liveAnswer } from '../api.ts';
import { hotViewOver } from '../testing/hot-view.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Zones } from '../time/zone.ts';
import { answerLiveDetails } from './live.ts';

/** A view of one lane without events. */
function emptyView() {
  return hotViewOver(async (_subject, bytes) => {
    const question = decodeHotQuestion(bytes);
    return question.kind === 'minutes'
      ? encodeHotAnswer({ kind: 'minutes', partition: 0, minutes: [] })
      : encodeHotAnswer({
          kind: 'live-details',
          visitors: 0,
          profiles: [],
          pages: [],
          countries: [],
          referrers: [],
        });
  }, 1);
}

test.each([
  ['Europe/Berlin', '2026-10-25T01:09:30Z', '2026-10-25 02:40:00', '2026-10-25 02:09:00+01:00'],
  ['Australia/Lord_Howe', '2026-04-04T15:14:30Z', '2026-04-05 01:45:00', '2026-04-05 01:44:00+10:30'],
  ['Europe/Berlin', '2026-03-29T01:09:30Z', '2026-03-29 01:40:00', '2026-03-29 03:09:00'],
])('live minutes in %s at %s are from %s to %s, each with a date of its own', async (name, at, from, to) => {
  const nowMs = Date.parse(at);
  const scope = { site: modelSite('site', name), zone: new Zones().of(name), nowMs };
  const { minutes = [] } = await answerLiveDetails(emptyView(), scope);
  const dates = minutes.map(({ date }) => date);
  expect([dates[0], dates.at(-1)]).toEqual([from, to]);
  expect(new Set(dates).size).toBe(30);
});

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
    const lane = Number(subject.slice('hot.'.length));
    const { kind } = decodeHotQuestion(bytes);
    if (kind === 'minutes') return encodeHotAnswer({ kind, partition: lane, minutes: [] });
    return encodeHotAnswer({
      kind: 'live-details',
      visitors: 3 - lane,
      profiles: [],
      pages: [['/', 1, []]],
      countries: [],
      referrers: [],
      ...owners[lane],
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
