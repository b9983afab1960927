import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import type { SentEvent } from './sent-visits.ts';

/**
 * Visits whose figures a reader can count: four sessions of three visitors yesterday, one of the day before that, in UTC.
 *
 *     yesterday      10:00 anna     /  (+60 s) /pricing (+60 s) signup    from Google     Firefox, Linux
 *                    11:00 ben      /                                     from Google     Chrome, Windows
 *                    12:00 carla    /pricing  (+30 s) /                   direct          Safari, iOS
 *                    15:00 anna     /docs                                 direct          Firefox, Linux
 *     the day before 10:00 ben      /                                     direct          Chrome, Windows
 */
export function knownVisits(nowMs: number): readonly SentEvent[] {
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const visit = (who: keyof typeof VISITORS, atMs: number, referrer: string, steps: readonly KnownStep[]) =>
    steps.map(([afterS, path, name = 'screen_view'], index) => ({
      atMs: atMs + afterS * 1_000,
      ...VISITORS[who],
      name,
      properties: {
        __path: `https://known.example${path}`,
        __title: `Title of ${path}`,
        ...(index === 0 && referrer !== '' && { __referrer: referrer }),
        ...(name === 'signup' && { plan: 'pro' }),
      },
    }));
  const yesterday = (hour: number) => todayMs - DAY_MS + hour * HOUR_MS;
  return [
    ...visit('anna', yesterday(10), 'https://www.google.com/', [
      [0, '/'],
      [60, '/pricing'],
      [120, '/pricing', 'signup'],
    ]),
    ...visit('ben', yesterday(11), 'https://www.google.com/', [[0, '/']]),
    ...visit('carla', yesterday(12), '', [
      [0, '/pricing'],
      [30, '/'],
    ]),
    ...visit('anna', yesterday(15), '', [[0, '/docs']]),
    ...visit('ben', yesterday(10 - 24), '', [[0, '/']]),
  ];
}

type KnownStep = readonly [afterS: number, path: string, name?: string];

const VISITORS = {
  anna: {
    address: '81.0.0.1',
    agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0',
    profileId: 'anna',
  },
  ben: {
    address: '81.0.0.2',
    agent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    profileId: 'ben',
  },
  carla: {
    address: '81.0.0.3',
    agent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    profileId: 'carla',
  },
} as const;
