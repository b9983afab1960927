import { describe, expect, test } from 'vitest';
import { curlOf } from './curl.ts';
import { apiDocument } from './documentation.ts';
import { html, inline, prose } from './html.ts';
import type { OpenApiDocument } from './open-api.ts';
import { documentationPage } from './page.ts';
import { typeText } from './schema-text.ts';
import { describedEndpoints } from './testing/endpoints.ts';

const document = apiDocument(describedEndpoints(), '1.2.3');
const page = documentationPage(document);

function all(pattern: RegExp): string[] {
  return [...page.matchAll(pattern)].map(([, found = '']) => found);
}

describe('the page', () => {
  test('shows every operation once, by method and path', () => {
    const placed = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(all(/<article id="(\w+)"/g).length).toBe(placed.length);
    expect(all(/<li data-of="\w+"><a href="#\w+">([^<]+)<\/a>/g)).toEqual(placed);
  });

  test('links only to what it has, and gives every id once', () => {
    const ids = all(/\bid="([^"]+)"/g);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    const targets = [...all(/\bhref="#([^"]+)"/g), ...all(/\baria-labelledby="([^"]+)"/g)];
    expect(targets.length).toBeGreaterThan(100);
    expect(targets.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test('has one h1, and no heading that leaves a level out', () => {
    const levels = all(/<h([1-6])/g).map(Number);
    expect(levels.filter((level) => level === 1)).toEqual([1]);
    const leaps = levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1);
    expect(leaps).toEqual([]);
  });

  test('asks for nothing but itself', () => {
    expect(all(/\b(?:src|href)="(?!#|data:,|openapi\.json)([^"]*)"/g)).toEqual([]);
    expect(page).not.toMatch(/@import|url\(|\bon[a-z]+="|<style>[^<]*<style|style="/);
  });

  test('closes what it opens', () => {
    for (const tag of ['article', 'section', 'details', 'table', 'ul', 'li', 'pre', 'code', 'div', 'p']) {
      const opened = all(new RegExp(`<(${tag})[ >]`, 'g')).length;
      expect(all(new RegExp(`</(${tag})>`, 'g')).length, tag).toBe(opened);
    }
  });
});

test('what a description says is text, whatever it says', () => {
  const evil = '<img src=x onerror="alert(1)">&\'';
  const mutated: OpenApiDocument = {
    ...document,
    info: { ...document.info, title: evil },
    components: {
      ...document.components,
      schemas: {
        ...document.components.schemas,
        Error: { type: 'object', description: evil, properties: { [evil]: { const: evil } } },
      },
    },
  };
  const shown = documentationPage(mutated);
  expect(shown).not.toContain('<img');
  expect(shown).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;&#39;');
});

test.each([
  ['`a` and b', '<code>a</code> and b'],
  ['one ` alone', 'one ` alone'],
  ['`<b>`', '<code>&lt;b&gt;</code>'],
])('%s is shown with its code', (text, shown) => {
  expect(inline(text).html).toBe(shown);
});

test('empty lines begin a paragraph', () => {
  expect(prose('a\n\nb').html).toBe('<p>a</p><p>b</p>');
});

test('lists and absent parts are put in as they are meant', () => {
  expect(html`<i>${[html`<b>${1}</b>`, '<']}${undefined}</i>`.html).toBe('<i><b>1</b>&lt;</i>');
});

test.each([
  [{ type: 'string', minLength: 1, maxLength: 80 }, 'text, 1 to 80 characters'],
  [{ type: ['string', 'null'] }, 'text or null'],
  [{ anyOf: [{ type: 'string' }, { type: 'integer', minimum: 1 }] }, 'text or whole number, at least 1'],
  [{ type: 'array', items: { $ref: '#/components/schemas/Filter' } }, 'list of Filter'],
  [
    { type: 'array', maxItems: 3, items: { type: 'string', maxLength: 5 } },
    'list, at most 3 entries, each text, at most 5 characters',
  ],
  [{ type: 'number', minimum: 0, maximum: 1 }, 'number, 0 to 1'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'object of number'],
  [{ enum: ['a', 'b'] }, 'one of a, b'],
  [{ type: 'number', exclusiveMinimum: 0 }, 'number above 0'],
  [{}, 'anything'],
])('%j is called what it is', (schema, text) => {
  expect(typeText(schema)).toBe(text);
});

test('a request is a line for a shell, with its examples', () => {
  const at = (path: string, method: string) => {
    const operation = document.paths[path]?.[method];
    return operation === undefined ? '' : curlOf(path, method, operation);
  };
  expect(at('/insights/{projectId}/pages', 'get')).toBe(
    [
      'curl "$URL/insights/shop/pages?range=today&filters=%5B%7B%22name%22%3A%22country%22%2C%22operator%22%3A%22is%22%2C%22value%22%3A%5B%22DE%22%5D%7D%5D"',
      '-H "service-client-id: $ID"',
      '-H "service-client-secret: $SECRET"',
    ].join(' \\\n  '),
  );
  expect(at('/manage/clients/{clientId}/rotate', 'post')).toMatch(
    /^curl -X POST "\$URL\/manage\/clients\/[0-9a-f-]+\/rotate"/,
  );
  expect(at('/manage/projects', 'post')).toContain(`-d '{"name":"Shop"`);
  expect(at('/healthz/live', 'get')).toBe('curl "$URL/healthz/live"');
});
