import { expect, test } from 'vitest';
import type { z } from 'zod';
import { clientCreation } from './client-api.ts';
import { rowsImport } from './gsc/gsc-api.ts';
import { projectChange } from './project-api.ts';
import { userCreation } from './user-api.ts';

const ELEMENTS = 200_000;

/** A list that counts the looks at its elements. */
function watchedList(): { readonly list: unknown[]; readonly reads: () => number } {
  let reads = 0;
  const list = new Proxy(new Array(ELEMENTS).fill({}), {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
      return Reflect.get(target, key);
    },
  });
  return { list, reads: () => reads };
}

const bodies: readonly (readonly [field: string, schema: z.ZodType, body: (list: unknown[]) => object])[] = [
  ['rows', rowsImport, (rows) => ({ rows })],
  ['cors', projectChange, (cors) => ({ cors })],
  ['types', projectChange, (types) => ({ types })],
  ['filters.addresses', projectChange, (addresses) => ({ filters: { addresses } })],
  ['scopes', clientCreation, (scopes) => ({ name: 'a', type: 'root', scopes })],
  ['addresses', clientCreation, (addresses) => ({ name: 'a', type: 'root', addresses })],
  ['sites', userCreation, (sites) => ({ name: 'a', email: 'a@b.example', role: 'read', sites })],
];

test.each(bodies)(
  'a body with too many %s is rejected before the first one is read',
  (field, schema, body) => {
    const { list, reads } = watchedList();
    const issues = schema.safeParse(body(list)).error?.issues.filter(({ path }) => path.join('.') === field);
    expect(issues?.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^expected at most [\d,]+ /),
    ]);
    expect(reads()).toBe(0);
  },
);

test.each([
  ['timezone', { timezone: 'x'.repeat(5_000_000) }],
  ['cors.0', { cors: ['x'.repeat(5_000_000)] }],
  ['domain', { domain: 'x!'.repeat(2_000_000) }],
  ['filters.addresses.0', { filters: { addresses: ['x'.repeat(5_000_000)] } }],
  ['filters.names.0', { filters: { names: ['\0'.repeat(5_000_000)] } }],
])('%s that is too long is rejected for its length, and nothing else reads it', (field, body) => {
  const issues = projectChange.safeParse(body).error?.issues ?? [];
  expect(issues.map(({ path, code }) => [path.join('.'), code])).toEqual([[field, 'too_big']]);
});
