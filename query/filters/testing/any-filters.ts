import fc from 'fast-check';
import { HOUR_MS } from '../../../infra/durations.ts';
import { NOW_MS } from '../../insights/testing/insight-questions.ts';
import type { RequestedFilter } from './evaluate.ts';
import { GROUPS, NAMES, PATHS, PLACES, PROFILES, WORDS } from './visit-scene.ts';

const values = (words: readonly string[]) =>
  fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 2 });
const parts = (words: readonly string[]) => values(words.filter((word) => word !== ''));
const equal = fc.constantFrom('is', 'is', 'isNot');
const partial = fc.constantFrom('contains', 'doesNotContain', 'startsWith', 'regex');
const order = fc.constantFrom('gt', 'lte');
const bounces: fc.Arbitrary<RequestedFilter['value']> = fc.constantFrom([true], ['false'], [true, false]);
const none = fc.constantFrom('isNull', 'isNotNull');
const texts = fc.constantFrom(
  'country',
  'referrer_name',
  'utmSource',
  'browser_version',
  'timezone',
  'channel',
);
const own = fc.constantFrom('title', 'properties.k', "properties.o'k", 'profile.email', 'group.name');

const aboutSession: fc.Arbitrary<RequestedFilter> = fc.oneof(
  fc.record({ name: texts, operator: equal, value: values(WORDS) }),
  fc.record({ name: texts, operator: partial, value: parts(['o', 'one', '1', '☂']) }),
  fc.record({ name: texts, operator: order, value: fc.constant(['9.7']) }),
  fc.record({
    name: fc.constantFrom('longitude', 'latitude'),
    operator: fc.oneof(equal, order),
    value: values(PLACES),
  }),
  fc.record({ name: fc.oneof(texts, fc.constant('longitude')), operator: none, value: fc.constant([]) }),
);
/** Filters on the facts of a session. */
export const aboutFacts: fc.Arbitrary<RequestedFilter> = fc.oneof(
  fc.record({
    name: fc.constantFrom('entryPath', 'exit_path', 'entry_path', 'exitPath'),
    operator: fc.oneof(equal, partial),
    value: parts(PATHS),
  }),
  fc.record({
    name: fc.constantFrom('entryHostname', 'entry_hostname'),
    operator: fc.oneof(equal, partial),
    value: parts(['a.example', 'b.example', 'example', '']),
  }),
  fc.record({ name: fc.constantFrom('isBounce', 'is_bounce'), operator: equal, value: bounces }),
  fc.record({
    name: fc.constantFrom('screenViews', 'screen_views'),
    operator: equal,
    value: values(['0', '1', '2']),
  }),
  fc.record({ name: fc.constantFrom('screen_views'), operator: order, value: fc.constantFrom([1], [2, 3]) }),
  fc.record({
    name: fc.constant('duration'),
    operator: fc.constantFrom('gt', 'gte', 'lt', 'lte', 'is', 'isNot'),
    value: fc.constantFrom([0], [3_600], ['7200.5', 30_000]),
  }),
  fc.record({
    name: fc.constantFrom('exitPath', 'isBounce', 'duration'),
    operator: none,
    value: fc.constant([]),
  }),
);
// Times around the range of the questions.
const times = values([20, 30, 40].map((hours) => new Date(NOW_MS - hours * HOUR_MS).toISOString()));
const aboutEvent: fc.Arbitrary<RequestedFilter> = fc.oneof(
  fc.record({ name: fc.constant('path'), operator: fc.oneof(equal, partial), value: parts(PATHS) }),
  fc.record({ name: fc.constant('name'), operator: equal, value: values(NAMES) }),
  fc.record({
    name: fc.constantFrom('profileId', 'profile.id'),
    operator: equal,
    value: values(PROFILES),
  }),
  fc.record({
    name: fc.constantFrom('groups', 'group.id'),
    operator: fc.oneof(equal, partial),
    value: values(GROUPS),
  }),
  fc.record({ name: own, operator: equal, value: values(WORDS) }),
  fc.record({ name: own, operator: none, value: fc.constant([]) }),
  fc.record({ name: fc.constant('revenue'), operator: order, value: fc.constant([5]) }),
  fc.record({ name: fc.constant('created_at'), operator: order, value: times }),
  fc.record({
    name: fc.constant('session_id'),
    operator: fc.constant('endsWith'),
    value: values(['1', '2', '3']),
  }),
);
/** Filters on sessions, on their facts, on events, and on several of these. */
export const anyFilters = fc
  .tuple(
    fc.array(aboutSession, { maxLength: 2 }),
    fc.array(aboutEvent, { maxLength: 2 }),
    fc.array(aboutFacts, { maxLength: 1 }),
  )
  .map(([session, event, facts]) => [...event, ...session, ...facts])
  .filter(({ length }) => length > 0);
