import type { SeededRandom } from '../../ingest/testing/random.ts';
import { SEGMENTS } from '../../query/export/chart-fields.ts';
import { FORMULAS } from './charts.ts';
import type { AskedFilter } from './filters.ts';
import type { Parameters } from './ranges.ts';

const NAMES = [
  'screen_view',
  'screen_view',
  'click',
  'sign_up',
  'revenue',
  '*',
  '*',
  'session_start',
  'nothing',
] as const;
const NUMBERS = ['revenue', 'properties.nested.size', 'count', 'properties.note', 'nowhere'] as const;
const BREAKDOWNS = [
  'country',
  'browser_version',
  'path',
  'groups',
  'properties.kind',
  'utmSource',
  'profile.id',
  'name',
  'currency',
  'revenue',
  'session_id',
] as const;

/** The parameters of `/export/charts` besides a range and filters that apply to all series. */
export function chartParameters(random: SeededRandom, anyFilter: () => AskedFilter): Parameters {
  const isComputed = random.chance(0.25);
  const series = Array.from({ length: isComputed ? 2 : random.one([1, 1, 2, 3]) }, () =>
    anySeries(random, anyFilter),
  );
  const breakdowns = new Set(
    Array.from({ length: random.one([0, 0, 1, 1, 2]) }, () => random.one(BREAKDOWNS)),
  );
  return {
    series: JSON.stringify(series),
    ...(breakdowns.size > 0 ? { breakdowns: JSON.stringify([...breakdowns].map((name) => ({ name }))) } : {}),
    ...(isComputed ? { formula: random.one(Object.keys(FORMULAS) as [string]) } : {}),
    ...(random.chance(0.5) ? { previous: 'true' } : {}),
    ...(random.chance(0.5) ? { limit: String(random.one([1, 4, 40])) } : {}),
  };
}

function anySeries(random: SeededRandom, anyFilter: () => AskedFilter): object {
  const segment = random.one(SEGMENTS);
  return {
    name: random.one(NAMES),
    ...(segment === 'event' ? {} : { segment }),
    ...(segment.startsWith('property_') ? { property: random.one(NUMBERS) } : {}),
    ...(random.chance(0.25) ? { filters: [anyFilter()] } : {}),
  };
}
