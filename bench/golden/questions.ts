import { must } from '../../infra/assert.ts';
import { DAY_MS, MINUTE_MS } from '../../infra/durations.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import type { Question } from './answers.ts';
import { addDays } from './calendar.ts';
import { chartParameters } from './chart-questions.ts';
import { type AskedFilter, camelCase, SESSION_FIELDS, valuesOf } from './filters.ts';
import { DIMENSIONS } from './lists.ts';
import type { SiteModel } from './model.ts';
import { type AskedStep, FUNNEL_FIELDS } from './paths.ts';
import { INTERVALS, NAMED_RANGES, type Parameters } from './ranges.ts';
import type { Row } from './rows.ts';

const ROUTES = [
  'metrics',
  'metrics',
  'metrics',
  'pages',
  'pages/entry_exit',
  'dimension',
  'dimension',
  'dimension',
  'traffic/referrers',
  'traffic/geo',
  'traffic/devices',
  'active_users',
  'events',
  'events/names',
  'events/properties',
  'events/property_values',
  'sessions',
  'export/charts',
  'export/charts',
  'funnel',
  'funnel',
  'user_flow',
  'retention',
  'retention/cohort',
  'engagement',
] as const;

const BREAKDOWNS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  'traffic/referrers': [
    'referrer_name',
    'referrer_type',
    'referrer',
    'utm_source',
    'utm_medium',
    'utm_campaign',
  ],
  'traffic/geo': ['country', 'region', 'city'],
  'traffic/devices': [
    'device',
    'browser',
    'browser_version',
    'os',
    'os_version',
    'brand',
    'model',
    'language',
    'timezone',
    'screen',
  ],
};
const TEXTS = [
  'name',
  'path',
  'origin',
  'title',
  'query',
  'device_id',
  'profileId',
  'session_id',
  'id',
  'currency',
  'orderId',
  'event_id',
  'groups',
] as const;
const OF_ENTITIES = [
  'profile.id',
  'profile.firstName',
  'profile.first_name',
  'profile.email',
  'profile.groups',
  'profile.properties.plan',
  'profile.properties.seats',
  'group.id',
  'group.name',
  'group.type',
  'group.properties.size',
  'group.properties.tier',
] as const;
const PROPERTIES = [
  'properties.kind',
  'properties.nested.size',
  'properties.note',
  'properties.nowhere',
] as const;
const NUMBERS = [
  'revenue',
  'longitude',
  'latitude',
  'createdAt',
  'received_at',
  'profile.createdAt',
  'group.updated_at',
] as const;

/** A random question that the model can answer. */
export function anyQuestion(random: SeededRandom, model: SiteModel, nowMs: number): Question {
  const route = random.one(ROUTES);
  const named = route === 'dimension' ? random.one(['country', ...Object.keys(DIMENSIONS)]) : route;
  const filterCount = random.one([0, 0, 0, 1, 1, 2, 3]);
  const filters = Array.from({ length: filterCount }, () => anyFilter(random, model));
  return {
    route: named,
    filters,
    parameters: { ...rangeParameters(random, model, named, nowMs), ...ownParameters(random, model, named) },
  };
}

function rangeParameters(random: SeededRandom, model: SiteModel, route: string, nowMs: number): Parameters {
  if (route === 'active_users' && random.chance(0.5))
    return random.chance(0.3) ? {} : { days: String(random.integer(1, 100)) };
  const isSeries = route === 'metrics' || route === 'export/charts';
  const interval = isSeries && random.chance(0.4) ? { interval: random.one(INTERVALS) } : {};
  if (random.chance(0.1)) return interval;
  if (random.chance(0.6)) return { range: random.one(NAMED_RANGES), ...interval };
  return {
    ...customDates(random, model, nowMs),
    ...(random.chance(0.3) ? { range: 'custom' } : {}),
    ...interval,
  };
}

/** Days, instants, or one of each; often around a day on which the clocks change. */
function customDates(random: SeededRandom, { calendar }: SiteModel, nowMs: number): Parameters {
  const today = calendar.dateOf(nowMs);
  const changes = calendar.changes(nowMs, 60);
  const change = changes[random.below(changes.length + 1)];
  const startDate =
    change !== undefined && random.chance(0.7)
      ? addDays(change, -random.below(3))
      : addDays(today, -random.below(70));
  const endDate = addDays(startDate, random.one([0, 1, 2, 3, 10, 35, 93, 187]));
  const startMs = calendar.beginOf(startDate) + random.below(26 * 60) * MINUTE_MS;
  const endMs = startMs + random.one([1, 90, 200, 1_500, 4_000, 60_000]) * MINUTE_MS + random.below(60_000);
  const wallOf = (atMs: number) => calendar.wallOf(atMs).replace(' ', random.one(['T', ' ']));
  switch (random.below(5)) {
    case 0:
      return { startDate: new Date(startMs).toISOString(), endDate: new Date(endMs).toISOString() };
    case 1:
      return { startDate: wallOf(startMs), endDate: wallOf(startMs + DAY_MS * random.integer(1, 9)) };
    case 2:
      return { startDate, endDate: new Date(calendar.beginOf(endDate) + 90 * MINUTE_MS).toISOString() };
    default:
      return { startDate, endDate };
  }
}

function ownParameters(random: SeededRandom, model: SiteModel, route: string): Parameters {
  if (route === 'metrics' || route === 'active_users') return {};
  if (route === 'export/charts') return chartParameters(random, () => anyFilter(random, model));
  if (route === 'retention' || route === 'engagement') return {};
  const row = anyRow(random, model);
  const limit = random.chance(0.6) ? { limit: String(random.one([1, 3, 20, 100, 1_000])) } : {};
  const page = random.chance(0.3) ? { ...limit, cursor: String(random.one([0, 1, 5, 40, 900])) } : limit;
  const names = random.chance(0.3)
    ? { event: random.chance(0.5) ? row.event.name : [row.event.name, 'session_start', 'click'] }
    : {};
  const profile = random.chance(0.15) ? { profileId: row.event.profileId || 'nobody' } : {};
  switch (route) {
    case 'funnel':
      return funnelParameters(random, model);
    case 'user_flow':
      return flowParameters(random, model);
    case 'retention/cohort':
      return cohortParameters(random, model);
    case 'pages/entry_exit':
      return { ...page, ...(random.chance(0.7) ? { mode: random.one(['entry', 'exit']) } : {}) };
    case 'traffic/referrers':
    case 'traffic/geo':
    case 'traffic/devices':
      return {
        ...page,
        ...(random.chance(0.7) ? { breakdown: random.one(must(BREAKDOWNS[route], route)) } : {}),
      };
    case 'events':
      return {
        ...page,
        ...names,
        ...profile,
        ...(row.event.sessionId !== '' && random.chance(0.1) ? { sessionId: row.event.sessionId } : {}),
      };
    case 'events/properties':
      return { ...page, ...names };
    case 'events/property_values':
      return { ...page, ...names, property: random.one(['kind', 'nested.size', 'note', 'count', 'nowhere']) };
    case 'sessions':
      return { ...page, ...profile };
    default:
      return page;
  }
}

function funnelParameters(random: SeededRandom, model: SiteModel): Parameters {
  const steps = Array.from({ length: random.integer(2, 4) }, (): AskedStep => {
    const name = random.chance(0.15) ? '*' : anyRow(random, model).event.name;
    return random.chance(0.2) ? { name, filters: [anyFilter(random, model)] } : name;
  });
  return {
    steps: JSON.stringify(steps),
    ...(random.chance(0.7) ? { windowHours: String(random.one([1, 2, 24, 720])) } : {}),
    ...(random.chance(0.6) ? { groupBy: random.one(['session_id', 'profile_id']) } : {}),
    ...(random.chance(0.4) ? { between: 'true' } : {}),
    ...(random.chance(0.4) ? { breakdown: random.one(['country', ...Object.keys(FUNNEL_FIELDS)]) } : {}),
  };
}

function flowParameters(random: SeededRandom, model: SiteModel): Parameters {
  const by = random.one(['pages', 'events']);
  const { path, name } = anyRow(random, model).event;
  return {
    ...(by === 'pages' && random.chance(0.5) ? {} : { by }),
    ...(random.chance(0.5) ? { start: (by === 'pages' ? path : name) || '/' } : {}),
    ...(random.chance(0.5) ? { direction: random.one(['forward', 'backward']) } : {}),
    ...(random.chance(0.6) ? { depth: String(random.integer(1, 8)) } : {}),
    ...(random.chance(0.6) ? { limit: String(random.one([1, 2, 5, 30])) } : {}),
  };
}

function cohortParameters(random: SeededRandom, model: SiteModel): Parameters {
  const nameOfEvent = () => anyRow(random, model).event.name;
  return {
    ...(random.chance(0.8) ? { interval: random.one(['day', 'week', 'month']) } : {}),
    ...(random.chance(0.3) ? { firstEvent: nameOfEvent() } : {}),
    ...(random.chance(0.3) ? { event: nameOfEvent() } : {}),
  };
}

function anyFilter(random: SeededRandom, model: SiteModel): AskedFilter {
  const family = random.below(6);
  if (family === 0) return numberFilter(random, model, random.one(NUMBERS));
  const place = must(SESSION_FIELDS[random.below(SESSION_FIELDS.length)], 'a field');
  const name =
    [
      random.one(TEXTS),
      random.one(OF_ENTITIES),
      random.one(PROPERTIES),
      snakeOrCamel(random, place),
      snakeOrCamel(random, place),
    ][family - 1] ?? 'path';
  return name === 'longitude' || name === 'latitude'
    ? numberFilter(random, model, name)
    : textFilter(random, model, name);
}

function textFilter(random: SeededRandom, model: SiteModel, name: string): AskedFilter {
  const texts = Array.from({ length: random.integer(1, 2) }, () => valueIn(random, model, name));
  const parts = texts.map((text) => partOf(random, text));
  switch (random.below(11)) {
    case 0:
      return { name, operator: 'isNull' };
    case 1:
      return { name, operator: 'isNotNull' };
    case 2:
    case 3:
      return { name, operator: 'isNot', value: texts };
    case 4:
      return {
        name,
        operator: random.one(['contains', 'doesNotContain']),
        value: parts.map((part) => (random.chance(0.5) ? part.toUpperCase() : part)),
      };
    case 5:
      return { name, operator: 'startsWith', value: texts.map((text) => text.slice(0, 4) || '/') };
    case 6:
      return { name, operator: 'endsWith', value: texts.map((text) => text.slice(-2) || 'o') };
    case 7:
      return {
        name,
        operator: 'regex',
        value: [random.one(['^[a-m]', 'o.*e', '\\d+$', '^$', '/(docs|jobs)/'])],
      };
    case 8:
      return {
        name,
        operator: random.one(['gt', 'gte', 'lt', 'lte']),
        value: [random.one([7, '12.5', '3', 0])],
      };
    default:
      return { name, operator: 'is', value: random.chance(0.1) ? [...texts, ''] : texts };
  }
}

function numberFilter(random: SeededRandom, model: SiteModel, name: string): AskedFilter {
  const found = valuesOf(camelCase(name), anyRow(random, model), model.records)[0];
  const isTime = /(At|_at)$/.test(name);
  const value =
    found === undefined || found === ''
      ? isTime
        ? '2026-01-01T00:00:00Z'
        : 10
      : isTime
        ? new Date(Number(found)).toISOString()
        : found;
  const operator = random.one(['is', 'isNot', 'gt', 'gte', 'lt', 'lte', 'isNull', 'isNotNull']);
  return operator.endsWith('ull') ? { name, operator } : { name, operator, value: [value] };
}

function valueIn(random: SeededRandom, model: SiteModel, name: string): string {
  for (let tries = 0; tries < 5; tries += 1) {
    const [value = ''] = valuesOf(camelCase(name), anyRow(random, model), model.records);
    if (value !== '') return String(value);
  }
  return 'nothing';
}

function partOf(random: SeededRandom, text: string): string {
  const start = random.below(Math.max(1, text.length - 2));
  return text.slice(start, start + 3) || 'o';
}

function snakeOrCamel(random: SeededRandom, name: string): string {
  return random.chance(0.5) ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function anyRow(random: SeededRandom, { rows }: SiteModel): Row {
  return must(rows[random.below(rows.length)], 'a site has rows');
}

/** Every route once, with plain parameters. */
export function everyQuestion(): Question[] {
  const routes = [...Object.keys(DIMENSIONS), ...new Set(ROUTES)].filter((route) => route !== 'dimension');
  return routes.map((route) => ({
    route,
    filters: [],
    parameters: {
      range: '30d',
      ...(route === 'events/property_values' ? { property: 'kind' } : {}),
      ...(route === 'funnel' ? { steps: JSON.stringify(['screen_view', '*', 'screen_view']) } : {}),
      ...(route === 'export/charts' ? { series: JSON.stringify([{ name: 'screen_view' }]) } : {}),
    },
  }));
}
