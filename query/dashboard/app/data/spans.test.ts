import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RANGES, rangeOf } from '../../../time/range.ts';
import { Zones } from '../../../time/zone.ts';
import { comparedDays, daysOf, neighbourOf, todayIn } from './spans.ts';

const zones = new Zones();
const DAY_MS = 86_400_000;

test('periods and the days they are compared with are those of the service', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...RANGES.filter((range) => range !== 'custom')),
      fc.constantFrom('UTC', 'Europe/Berlin', 'America/Los_Angeles', 'Asia/Kolkata', 'Pacific/Auckland'),
      fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2032, 0, 1) }),
      (range, timezone, nowMs) => {
        const zone = zones.of(timezone);
        const asked = rangeOf({ range }, nowMs, zone);
        if ('kind' in asked) throw new Error(asked.message);
        const today = todayIn(timezone, nowMs);
        const dayAt = (ms: number) => new Date(zone.wallMs(ms)).toISOString().slice(0, 10);
        const shown = ({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }) => ({
          from: dayAt(fromMs),
          to: dayAt(toMs - 1),
        });
        const days = daysOf({ range }, today);
        if (days === undefined) {
          expect(asked.span.toMs - asked.span.fromMs).toBeLessThanOrEqual(DAY_MS);
          return;
        }
        expect(days).toEqual(shown(asked.span));
        expect(comparedDays({ range }, 'previous', today)).toEqual(shown(asked.previous));
      },
    ),
  );
});

test('dates are compared with as many days before, or with those of the year before', () => {
  const period = { range: 'custom', startDate: '2024-02-28', endDate: '2024-02-29' } as const;
  expect(comparedDays(period, 'previous', '2026-01-01')).toEqual({ from: '2024-02-26', to: '2024-02-27' });
  expect(comparedDays(period, 'year', '2026-01-01')).toEqual({ from: '2023-02-28', to: '2023-02-28' });
  expect(comparedDays(period, 'off', '2026-01-01')).toBeUndefined();
});

test('the next period ends with today, and there is none after it', () => {
  const period = { range: 'custom', startDate: '2026-01-01', endDate: '2026-01-07' } as const;
  expect(neighbourOf(period, 1, '2026-01-10')).toEqual({
    range: 'custom',
    startDate: '2026-01-08',
    endDate: '2026-01-10',
  });
  expect(neighbourOf(period, 1, '2026-01-07')).toBeUndefined();
  expect(neighbourOf({ range: '7d' }, -1, '2026-01-14')).toEqual(period);
  expect(neighbourOf({ range: 'lastHour' }, -1, '2026-01-14')).toBeUndefined();
});
