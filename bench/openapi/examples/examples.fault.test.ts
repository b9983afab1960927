import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { must } from '../../../infra/assert.ts';
import { projectRoot } from '../../../infra/root.ts';
import { describedOperations } from '../../../query/openapi/documentation.ts';
import { CAPTURED_FOLDER, ERRORS_FILE } from '../../../query/openapi/examples/captured.ts';
import { SHOWN_REQUESTS } from '../../../query/openapi/examples/requests/all.ts';
import { type DescribedOperation, TAGS } from '../../../query/openapi/operation.ts';
import { describedEndpoints } from '../../../query/openapi/testing/endpoints.ts';
import { Capture } from './capture.ts';
import { ShopService, START_MS } from './shop-service.ts';
import { StableAnswers } from './stable.ts';

// The examples of the documentation are answers of the service. With UPDATE_EXAMPLES=1 this file writes them; else it compares.

const run = promisify(execFile);
const FILES = [...Object.keys(TAGS).map(fileOf), ERRORS_FILE];

let service: ShopService;
/** The content of each file, as the service answers now. */
let captured: ReadonlyMap<string, Readonly<Record<string, unknown>>>;

beforeAll(async () => {
  service = await ShopService.start();
  // The bucket is in this process, and rejects requests with another time.
  vi.setSystemTime(START_MS);
  const operations = await describedOperations(describedEndpoints());
  const capture = new Capture({
    url: service.url,
    credentials: service.cluster.credentials,
    operations,
    stable: new StableAnswers(START_MS, service.replacements),
    names: service.names,
  });
  const { usual, storeAway } = SHOWN_REQUESTS;
  await capture.sendAll(usual.answers);
  await capture.sendErrors(usual.errors);
  await service.cluster.kill('store');
  await capture.sendAll(storeAway.answers);
  await capture.sendErrors(storeAway.errors);
  captured = filesOf(capture, operations);
  if (process.env.UPDATE_EXAMPLES === '1') await write(captured);
});

afterAll(async () => {
  // Also after a failure: files of one worker share its clock.
  vi.useRealTimers();
  await service?.[Symbol.asyncDispose]();
});

describe.each(FILES)('%s', (file) => {
  const stored = () => JSON.parse(readFileSync(join(CAPTURED_FOLDER, file), 'utf8')) as object;

  test('has an example for each request, as the service answers it (UPDATE_EXAMPLES=1 writes it anew)', () => {
    const now = must(captured.get(file), `nothing was captured for ${file}`);
    expect(Object.keys(stored())).toEqual(Object.keys(now));
    for (const [operation, examples] of Object.entries(stored()))
      expect(now[operation], operation).toEqual(examples);
  });

  test('holds no secret of a run', () => {
    const text = JSON.stringify(captured.get(file));
    const secrets = Object.values(service.cluster.credentials.clients).flatMap(({ id, secret }) => [
      id,
      secret,
    ]);
    const { storageKey, ...names } = service.names;
    for (const secret of [...secrets, storageKey, ...Object.values(names)])
      expect(text).not.toContain(secret);
  });
});

function filesOf(
  { captured, errors }: Capture,
  operations: readonly DescribedOperation[],
): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  const files = Object.keys(TAGS).map((tag): [string, Readonly<Record<string, unknown>>] => {
    const names = operations
      .filter((one) => one.tag === tag)
      .map(({ method, pattern }) => `${method} ${pattern}`);
    return [fileOf(tag), Object.fromEntries(names.map((name) => [name, captured.get(name) ?? []]))];
  });
  return new Map([...files, [ERRORS_FILE, Object.fromEntries(errors)]]);
}

function fileOf(tag: string): string {
  return `${tag.toLowerCase()}.json`;
}

async function write(files: typeof captured): Promise<void> {
  mkdirSync(CAPTURED_FOLDER, { recursive: true });
  for (const [file, content] of files)
    writeFileSync(join(CAPTURED_FOLDER, file), `${JSON.stringify(content, null, 2)}\n`);
  await run('npx', ['biome', 'format', '--write', CAPTURED_FOLDER], { cwd: projectRoot });
}
