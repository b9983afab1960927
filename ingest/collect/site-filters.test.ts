import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Site, siteSchema } from '../../infra/accounts/accounts.ts';
import { type FilterSubject, SiteFilters } from './site-filters.ts';

const CREATED = '2024-01-01T00:00:00.000Z';

function siteWith(filters: Partial<Site['filters']>): Site {
  const fields = {
    id: 'demo',
    teamId: 'team',
    name: 'Demo',
    createdAt: CREATED,
    updatedAt: CREATED,
    filters,
  };
  return siteSchema.parse(fields);
}

const empty: FilterSubject = { address: '', profileId: '', name: '', path: '' };
const excludedBy = (filters: Partial<Site['filters']>, subject: Partial<FilterSubject>) =>
  new SiteFilters().excludedBy(siteWith(filters), { ...empty, ...subject });

describe('a filter', () => {
  test.each([
    [{ addresses: ['203.0.113.7'] }, { address: '203.0.113.7' }, 'address'],
    [{ addresses: ['203.0.113.7'] }, { address: '203.0.113.8' }, undefined],
    [{ addresses: ['203.0.113.0/24'] }, { address: '203.0.113.200' }, 'address'],
    [{ addresses: ['2001:db8::/32'] }, { address: '2001:db8:1::5' }, 'address'],
    [{ addresses: ['2001:db8::/32'] }, { address: '203.0.113.7' }, undefined],
    [{ addresses: ['nonsense', '203.0.113.0/99', '203.0.113.0/'] }, { address: '203.0.113.7' }, undefined],
    [{ addresses: ['203.0.113.7'] }, { address: '' }, undefined],
    [{ profileIds: ['boss'] }, { profileId: 'boss' }, 'profile'],
    [{ profileIds: ['boss'] }, { profileId: 'bos' }, undefined],
    [{ names: ['debug'] }, { name: 'debug' }, 'name'],
    [{ names: ['constructor'] }, { name: '__proto__' }, undefined],
    [{ paths: ['/admin'] }, { path: '/admin' }, 'path'],
    [{ paths: ['/admin'] }, { path: '/admin/users' }, undefined],
    [{ paths: ['/admin*'] }, { path: '/admin/users' }, 'path'],
    [{ paths: ['/*/edit'] }, { path: '/posts/7/edit' }, 'path'],
    [{ paths: ['/*/edit'] }, { path: '/edit' }, undefined],
    [{ paths: ['*'] }, { path: '/' }, 'path'],
    [{ paths: ['/a*a'] }, { path: '/a' }, undefined],
    [{ paths: ['/(a+)+$'] }, { path: '/aaaaaaaa' }, undefined],
  ] as const)('%j excludes %j by %s', (filters, subject, kind) => {
    expect(excludedBy(filters as unknown as Partial<Site['filters']>, subject)).toBe(kind);
  });

  test('a site without filters excludes nothing', () => {
    expect(excludedBy({}, { address: '203.0.113.7', profileId: 'a', name: 'b', path: '/' })).toBeUndefined();
  });

  test('a changed site is filtered by its new filters at once', () => {
    const filters = new SiteFilters();
    expect(filters.excludedBy(siteWith({ names: ['a'] }), { ...empty, name: 'b' })).toBeUndefined();
    expect(filters.excludedBy(siteWith({ names: ['b'] }), { ...empty, name: 'b' })).toBe('name');
  });

  test('a path pattern matches exactly as its regular expression does', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*'), maxLength: 8 });
    fc.assert(
      fc.property(
        piece,
        fc.string({ unit: fc.constantFrom('a', 'b', '/'), minLength: 1, maxLength: 10 }),
        (pattern, path) => {
          const same = new RegExp(`^${pattern.split('*').join('.*')}$`);
          expect(excludedBy({ paths: [pattern] }, { path })).toBe(same.test(path) ? 'path' : undefined);
        },
      ),
    );
  });

  test('filters are compiled once for all events of a version of a site', () => {
    let reads = 0;
    const site = siteWith({ paths: Array.from({ length: 1_000 }, (_, index) => `*a*${index}`) });
    const { filters } = site;
    const counted = {
      ...site,
      filters: new Proxy(filters, {
        get: (target, name) => {
          if (name === 'profileIds') reads += 1;
          return Reflect.get(target, name);
        },
      }),
    };
    const compiled = new SiteFilters();
    for (let event = 0; event < 100; event += 1)
      compiled.excludedBy(counted, { ...empty, path: `/${event}` });
    expect(reads).toBe(1);
  });

  test('the worst patterns that a site may have cost a batch of events no seconds', () => {
    // 1,000 of 65 characters and 8 stars, whose pieces are all found, and the last one is not.
    const paths = Array.from({ length: 1_000 }, (_, index) =>
      `*${'aaaaaaa*'.repeat(7)}${index}`.padEnd(65, 'b'),
    );
    const site = siteWith({ paths });
    const filters = new SiteFilters();
    const { user: before } = process.cpuUsage();
    for (let event = 0; event < 1_000; event += 1)
      filters.excludedBy(site, { ...empty, path: `/${event}${'a'.repeat(1_900)}` });
    expect(process.cpuUsage().user - before).toBeLessThan(4_000_000);
  });
});
