import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpServer } from '../../infra/http.ts';
import { projectRoot } from '../../infra/root.ts';
import type { AnyEndpoint } from '../serve.ts';
import { COLLECTION } from './collection.ts';
import { openApiDocument } from './document.ts';
import { INSIGHT_EXAMPLES } from './examples/insights.ts';
import { MANAGE_EXAMPLES } from './examples/manage.ts';
import type { OpenApiDocument } from './open-api.ts';
import { type Operation, operationOf } from './operation.ts';
import { documentationPage } from './page.ts';
import { PAGE_SCRIPT } from './page-script.ts';
import { PAGE_STYLE } from './page-style.ts';
import { SERVICE } from './service.ts';
import { addUnchanging } from './unchanging.ts';

const EXAMPLES = new Map(Object.entries({ ...INSIGHT_EXAMPLES, ...MANAGE_EXAMPLES }));

/** Adds `GET /openapi.json` and `GET /documentation`, made once of the endpoints as they are now. */
export function addDocumentation(http: HttpServer, endpoints: readonly AnyEndpoint[]): void {
  const version = release();
  const document = apiDocument(endpoints, version);
  addUnchanging(http, '/openapi.json', {
    text: JSON.stringify(document),
    headers: [
      ['content-type', 'application/json; charset=utf-8'],
      ['x-content-type-options', 'nosniff'],
      ['service-version', version],
    ],
  });
  addUnchanging(http, '/documentation', {
    text: documentationPage(document),
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['content-security-policy', CONTENT_POLICY],
      ['x-content-type-options', 'nosniff'],
      ['referrer-policy', 'no-referrer'],
      ['service-version', version],
    ],
  });
}

/** The description of the whole service, whichever of its rooms this process runs. */
export function apiDocument(endpoints: readonly AnyEndpoint[], version: string): OpenApiDocument {
  return openApiDocument(operationsOf(endpoints), version);
}

/** Every operation of the service. */
export function operationsOf(endpoints: readonly AnyEndpoint[]): readonly Operation[] {
  const answered = endpoints.map((endpoint) =>
    operationOf(endpoint, EXAMPLES.get(`${endpoint.method} ${endpoint.pattern}`)),
  );
  return [...COLLECTION, ...answered, ...SERVICE];
}

/** Nothing but the page's own style and script; the empty icon is a `data:` address. */
const CONTENT_POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(PAGE_STYLE)}`,
  `script-src ${hashOf(PAGE_SCRIPT)}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

function release(): string {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}
