import { readFile } from 'node:fs/promises';
import { setImmediate as othersTurn } from 'node:timers/promises';
import type { HttpServer } from '../../infra/http/http.ts';
import { addLateAsset, addStaticAsset } from '../../infra/http/static-asset.ts';
import { release } from '../../infra/root.ts';
import type { AnyEndpoint } from '../http/serve.ts';
import { COLLECTION } from './collection.ts';
import { openApiDocument, TITLE } from './document.ts';
import { type Examples, readExamples, withExamples } from './examples/captured.ts';
import { LIVE } from './live.ts';
import type { OpenApiDocument } from './open-api.ts';
import { type DescribedOperation, type Operation, operationOf } from './operation.ts';
import { SERVICE } from './service.ts';
import { SIGN_IN } from './sign-in.ts';
import { VIEWER_POLICY, VIEWER_SCRIPT_PATH, viewerPage, viewerScriptFile } from './viewer.ts';

/** Short, so that readers see the new document soon after an update of the service. */
const MAX_AGE_S = 60;
const SCRIPT_MAX_AGE_S = 3600;

/**
 * Adds `GET /openapi.json`, `GET /documentation` and the script of that page. The first request for the document makes it from the
 * given endpoints, which takes 0.2 s of CPU time.
 */
export function addDocumentation(http: HttpServer, endpoints: readonly AnyEndpoint[]): void {
  const script = viewerScriptFile();
  http.announce({
    path: '/documentation',
    title: 'API documentation',
    about:
      'Guides, and every endpoint with its parameters and answers, sample code, and a form that sends requests.',
  });
  http.announce({
    path: '/openapi.json',
    title: 'API description',
    about: 'The same for programs, in OpenAPI 3.1.',
  });
  addLateAsset(http, '/openapi.json', {
    make: async () => Buffer.from(JSON.stringify(await apiDocument(endpoints, release()))),
    contentType: 'application/json; charset=utf-8',
    maxAgeS: MAX_AGE_S,
    headers: [],
    cors: undefined,
  });
  addStaticAsset(http, ['/documentation'], {
    body: Buffer.from(viewerPage(TITLE)),
    contentType: 'text/html; charset=utf-8',
    maxAgeS: MAX_AGE_S,
    headers: [
      ['content-security-policy', VIEWER_POLICY],
      ['referrer-policy', 'no-referrer'],
    ],
    cors: undefined,
  });
  addLateAsset(http, VIEWER_SCRIPT_PATH, {
    make: () => readFile(script),
    contentType: 'text/javascript; charset=utf-8',
    maxAgeS: SCRIPT_MAX_AGE_S,
    headers: [],
    cors: undefined,
  });
}

/** Describes the whole service, whichever rooms this process runs. */
export async function apiDocument(
  endpoints: readonly AnyEndpoint[],
  version: string,
): Promise<OpenApiDocument> {
  const examples = await readExamples();
  return openApiDocument(await operationsOf(endpoints, examples), version, examples.errors);
}

/** Every operation of the service with its examples, in the order of the endpoints. */
export async function operationsOf(
  endpoints: readonly AnyEndpoint[],
  examples: Examples,
): Promise<readonly Operation[]> {
  return (await describedOperations(endpoints)).map((described) => withExamples(described, examples));
}

/** Every operation of the service without examples. After each endpoint, other requests get their turn. */
export async function describedOperations(
  endpoints: readonly AnyEndpoint[],
): Promise<readonly DescribedOperation[]> {
  const answered: DescribedOperation[] = [];
  for (const endpoint of endpoints) {
    answered.push(operationOf(endpoint));
    await othersTurn();
  }
  return [...COLLECTION, ...answered, ...LIVE, ...SIGN_IN, ...SERVICE];
}
