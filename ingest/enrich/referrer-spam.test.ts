import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { serviceAt } from './referrer-list.ts';
import { SPAM_DOMAINS, spamDomainOf } from './referrer-spam.ts';

const HOST = /^(?:[a-z0-9-]+\.)+[a-z0-9-]+$/;

describe('the list of spam domains', () => {
  test('has hosts in the form that browsers send, sorted, none twice', () => {
    expect(SPAM_DOMAINS.length).toBeGreaterThan(100);
    expect(SPAM_DOMAINS).toEqual([...new Set(SPAM_DOMAINS)].sort());
    expect(SPAM_DOMAINS.filter((domain) => !HOST.test(domain) || domain.startsWith('www.'))).toEqual([]);
  });

  test('has none below another, and no service that people come from', () => {
    const below = (domain: string) => spamDomainOf(domain.slice(domain.indexOf('.') + 1)) !== undefined;
    expect(SPAM_DOMAINS.filter(below)).toEqual([]);
    expect(SPAM_DOMAINS.filter((domain) => serviceAt(domain, '') !== undefined)).toEqual([]);
  });
});

test.each([
  ['semalt.com', 'semalt.com'],
  ['SEMALT.COM', undefined],
  ['a.b.semalt.com', 'semalt.com'],
  ['notsemalt.com', undefined],
  ['semalt.com.example', undefined],
  ['com', undefined],
  ['', undefined],
  ['constructor', undefined],
  ['192.0.2.1', undefined],
  ['.semalt.com', 'semalt.com'],
])('%j belongs to %s', (host, domain) => {
  expect(spamDomainOf(host)).toBe(domain);
});

test('the list says where it comes from', () => {
  const { source } = JSON.parse(readFileSync(join(import.meta.dirname, 'referrer-spam.json'), 'utf8'));
  expect(source.length).toBeGreaterThan(40);
});
