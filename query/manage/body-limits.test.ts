import { expect, test } from 'vitest';
import { BODY_MAX_BYTES } from '../http/serve.ts';
import { describedEndpoints } from '../openapi/testing/endpoints.ts';
import { bytesOf, largestOf } from './testing/largest-body.ts';

const MEBIBYTE = 1_048_576;
/** Charts accept this much JSON of series, and of breakdowns; reports have the same limits as charts, and so do filters. */
const CHART_TEXT_MAX_BYTES = 65_536;

const endpoints = describedEndpoints().flatMap(({ method, pattern, area, body, ...endpoint }) =>
  area === 'manage' && body !== undefined ? [{ ...endpoint, name: `${method} ${pattern}`, body }] : [],
);
const given = {
  'body.series': [{ name: 'a', segment: 'event', filters: filtersOf(CHART_TEXT_MAX_BYTES - 43) }],
  'body.options.filters': filtersOf(CHART_TEXT_MAX_BYTES),
  'body.breakdowns': [{ name: `properties.${'x'.repeat(CHART_TEXT_MAX_BYTES - 24)}` }],
};
/** Full lists of origins and filters of a site: 1,000 entries with 65,536 characters together, of three bytes each. */
const lists = {
  'body.cors': listOf('一'),
  'body.filters.profileIds': listOf('一'),
  'body.filters.names': listOf('一'),
  'body.filters.paths': listOf('一'),
};
/** The filters of segments and goals; a site's filters are different. */
const defined = { 'body.filters': filtersOf(CHART_TEXT_MAX_BYTES) };

test('there are bodies of charts as large as charts may be', () => {
  for (const field of Object.values({ ...given, ...defined }))
    expect(bytesOf(field)).toBe(CHART_TEXT_MAX_BYTES);
});

test.each(endpoints.map((endpoint) => [endpoint.name, endpoint] as const))(
  '%s reads the largest body that its schema allows',
  (name, { body, bodyMaxBytes = BODY_MAX_BYTES, about: { description = '' } }) => {
    // An import of many rows states the size of its body instead.
    const stated = /in a body of up to (\d+) MiB/.exec(description)?.[1];
    if (stated !== undefined) {
      expect(bodyMaxBytes).toBe(Number(stated) * MEBIBYTE);
      return;
    }
    const largest = largestOf(body, /(?:segments|goals)/.test(name) ? defined : { ...given, ...lists });
    expect(body.safeParse(largest).error).toBeUndefined();
    expect(bytesOf(largest)).toBeLessThanOrEqual(bodyMaxBytes);
  },
);

/** A list of 1,000 texts that is as long as a list of a site may be. */
function listOf(character: string): readonly string[] {
  const rest = 65_536 - 1_000 * 65;
  return Array.from({ length: 1_000 }, (_, index) => character.repeat(index < rest ? 66 : 65));
}

/** Filters of exactly this many bytes of JSON. */
function filtersOf(bytes: number): readonly object[] {
  const filter = (length: number) => ({ name: 'path', operator: 'is', value: ['x'.repeat(length)] });
  const most = filter(4_096);
  const filters: object[] = [];
  while (bytesOf([...filters, most, filter(0)]) <= bytes) filters.push(most);
  return [...filters, filter(bytes - bytesOf([...filters, filter(0)]))];
}
