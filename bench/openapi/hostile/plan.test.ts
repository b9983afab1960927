import { expect, test } from 'vitest';
import { SeededRandom } from '../../../ingest/testing/random.ts';
import { apiDocument } from '../../../query/openapi/documentation.ts';
import { describedEndpoints } from '../../../query/openapi/testing/endpoints.ts';
import { operationsIn } from '../operations.ts';
import { familiesOf, hostileValue } from './hostile-values.ts';
import { allPlaces, kindOf, planOf } from './plan.ts';
import { longText, NEST_NAMES, nestedText, UNIT_NAMES, UNITS } from './texts.ts';

const document = await apiDocument(describedEndpoints(), '1.2.3');
const law = {
  operations: operationsIn(document),
  named: document.components.schemas,
  schemaBreaches: () => [],
  limited: false,
};
const places = allPlaces(law);

function firstProbes(seed: number, count: number): string[] {
  const shown: string[] = [];
  for (const { place, family, sender, seed: own } of planOf(law, seed)) {
    shown.push(`${kindOf(place)} ${family} ${sender} ${own}`);
    if (shown.length === count) return shown;
  }
  return shown;
}

test('every parameter of the document is a place', () => {
  const kinds = new Set(places.map(kindOf));
  for (const { parameters } of law.operations)
    for (const { name, in: where } of parameters) {
      const wanted = where === 'header' ? `header ${name.toLowerCase()}` : `${where} ${name}`;
      expect([wanted, kinds.has(wanted)]).toEqual([wanted, true]);
    }
});

test('fields inside of JSON are places, in parameters, bodies and batches', () => {
  const names = new Set(places.map(({ kind, name, operation }) => `${operation.path} ${kind} ${name}`));
  for (const wanted of [
    '/insights/{projectId}/pages query filters.0.value.0',
    '/export/charts query series.0.filters.0.operator',
    '/track body track.payload.properties.__path',
    '/track body increment.payload.value',
    '/track/batch batch track.payload.groups.0',
    '/track/batch whole body',
    '/manage/projects/{projectId} body body.filters.paths.0',
  ])
    expect([wanted, names.has(wanted)]).toEqual([wanted, true]);
});

test('every place has families, and every family has values', () => {
  const random = new SeededRandom(5);
  const families = new Set<string>();
  for (const place of places)
    for (const family of familiesOf(place)) {
      const isOfBody = place.kind === 'query name' || place.kind === 'whole';
      if (isOfBody || families.has(family)) continue;
      families.add(family);
      expect(hostileValue(random, place, family, 2_000).label).not.toBe('');
    }
  expect(families.size).toBeGreaterThan(UNIT_NAMES.length + NEST_NAMES.length);
});

test('a plan has each family at each kind of place once before one comes again, and is the same for a seed', () => {
  const probes = firstProbes(3, 3_000);
  const pairs = probes.map((shown) => shown.replace(/ \w+ \d+$/, ''));
  expect(new Set(pairs).size).toBe(pairs.length);
  expect(firstProbes(3, 3_000)).toEqual(probes);
  expect(firstProbes(4, 3_000)).not.toEqual(probes);
});

test('texts are as long, and nesting is as deep, as they are asked to be', () => {
  expect(longText(UNITS.slashes, 10, ['x', 'y'])).toBe('x////////y');
  expect(longText(UNITS['broken escapes'], 60_000)).toHaveLength(60_000);
  expect(nestedText('arrays', 3, 100)).toBe('[[[1]]]');
  expect(nestedText('arrays', 1_000, 11)).toBe('[[[[[1]]]]]');
  expect(nestedText('objects', 2, 100)).toBe('{"a":{"a":1}}');
});
