import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { VisitRow } from '../rollups/finalized-visits.ts';
import { activeUsersOf } from './active-users.ts';

const DAYS = 70;

test('windows equal a look at every visitor on every day', () => {
  const visitors = fc.array(fc.uniqueArray(fc.integer({ min: 1, max: DAYS }), { maxLength: 12 }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(visitors, (visitsOf) => {
      const days = Array.from({ length: DAYS }, (_, index) => ({ label: `day ${index + 1}` }));
      const wasThere = (day: number, windowDays: number) =>
        visitsOf.filter((visits) => visits.some((visit) => visit <= day && visit > day - windowDays)).length;
      const expected = days.map(({ label }, index) => ({
        date: label,
        dau: wasThere(index + 1, 1),
        wau: wasThere(index + 1, 7),
        mau: wasThere(index + 1, 30),
      }));
      expect(activeUsersOf(days, visitsOf.flatMap(rowsOf))).toEqual(expected);
    }),
  );
});

function rowsOf(visits: readonly number[]): VisitRow[] {
  const sorted = [...visits].sort((a, b) => a - b);
  return sorted.map((day, index) => ({
    day,
    daysUntilNext: Math.min((sorted[index + 1] ?? Number.POSITIVE_INFINITY) - day, 30),
    visitors: 1,
  }));
}
