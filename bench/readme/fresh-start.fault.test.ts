import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram } from '../../infra/testing/debian-program.ts';
import { foundInFiles } from '../../infra/testing/found-in-files.ts';
import { type Launcher, startLauncher } from '../../infra/testing/launcher.ts';
import { findChromium } from '../../ingest/testing/chromium.ts';
import { openPage, startBrowser } from '../../ingest/tracker/testing/test-browser.ts';
import type { OpenApiDocument } from '../../query/openapi/open-api.ts';
import type { Credentials } from '../cluster/client.ts';
import { readCredentials } from '../cluster/cluster.ts';
import { exampleRequests } from './example-requests.ts';
import { codeBlock, codeBlocks, OPERATIONS_README } from './readme.ts';

// The steps of a newcomer after the first start, with the exact texts of the README, the first start and the API description.
// Only the address of the service is replaced, because the port has to be free.

const run = promisify(execFile);
const WAIT = { timeout: 60_000, interval: 300 };
const WRITTEN_URL = 'http://127.0.0.1:3000';
const BASH_MAX_MS = 60_000;
const chromium = await findChromium();
const curl = await findProgram({ variable: 'CURL', names: ['curl'], packageName: 'curl' });

/** The folder of a newcomer: the service's data is in its `.data`. */
const folder = mkdtempSync(join(tmpdir(), 'footfall-newcomer-'));
let launcher: Launcher;
let url = '';
let credentials: Credentials;
let browser: Browser | undefined;

beforeAll(async () => {
  const dataDir = join(folder, '.data');
  // The examples are more requests than a client may send in ten seconds.
  const unlimited = { QUERY_LIMIT_PER_10_S: '0', MANAGE_LIMIT_PER_10_S: '0' };
  launcher = startLauncher(dataDir, { NATS_URL: undefined, CLICKHOUSE_URL: undefined, ...unlimited });
  [, url = ''] = await launcher.waitFor(/footfall is running at (http:\/\/\S+)/);
  await launcher.waitFor(/Press Ctrl-C to stop/);
  credentials = readCredentials(dataDir);
  if (chromium !== undefined) browser = await startBrowser(chromium);
});

afterAll(async () => {
  await browser?.close();
  launcher?.signal('SIGTERM');
  await launcher?.exited;
  rmSync(folder, { recursive: true, force: true });
});

test('the link of the first start signs a browser in, once, and is in no log', async () => {
  const [, base, link = ''] = /(http:\S+)\/#sign-in=([\w-]{43})\n/.exec(launcher.output()) ?? [];
  expect(base).toBe(url);
  const signIn = () =>
    fetch(`${url}/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ link }),
    });
  const answer = await signIn();
  expect(answer.status).toBe(200);
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  const session = await fetch(`${url}/session`, { headers: { cookie } });
  expect(await session.json()).toMatchObject({ name: 'first root client', role: 'root' });
  expect((await signIn()).status).toBe(401);
  const token = cookie.split('.')[1] ?? '';
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(foundInFiles(join(folder, '.data'), [link, token])).toEqual([]);
});

test.skipIf(curl === undefined)(
  'every curl of the README, of the page for operators and of the first start is answered 200',
  async () => {
    const written = [...codeBlocks(''), ...codeBlocks('', OPERATIONS_README)].filter((block) =>
      /^(curl |ID=)/m.test(block),
    );
    expect(written.filter((block) => /^curl /m.test(block)).length).toBeGreaterThan(2);
    const answers = await shell(written.join('\n').replaceAll(WRITTEN_URL, url));
    expect(answers.length).toBe(written.join('\n').match(/^curl /gm)?.length);
    for (const { status } of answers) expect(status).toBe(200);
    const printed = launcher.output().match(/^ {2}curl (?:.*\\\n)*.*$/gm) ?? [];
    expect(printed).toHaveLength(2);
    const [event, live] = await shell(printed.join('\n'));
    expect(event).toMatchObject({ status: 200, body: { deviceId: expect.stringMatching(/^[0-9a-f]{32}$/) } });
    expect(live).toMatchObject({ status: 200, body: { visitors: expect.any(Number) } });
    // The events of the README and of the first start count as visitors now.
    await expect
      .poll(async () => (await ask('/insights/demo/live')).visitors, WAIT)
      .toBeGreaterThanOrEqual(1);
  },
);

describe.skipIf(chromium === undefined)('in a browser', () => {
  test("the README's page records its view, its own call, and a click on its button", async () => {
    const snippet = codeBlock('html', 'data-client-id="ID"')
      .replaceAll(WRITTEN_URL, url)
      .replace('data-client-id="ID"', `data-client-id="${credentials.clients.write.id}"`);
    const pages = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<!doctype html><title>Pricing</title><body>${snippet}</body>`);
    });
    pages.listen(0, '127.0.0.1');
    await once(pages, 'listening');
    try {
      const { page, errors } = await openPage(browser as Browser);
      const recorded = page.waitForResponse((response) => response.url() === `${url}/track`);
      await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/pricing`);
      expect((await recorded).status()).toBe(200);
      await page.getByRole('button', { name: 'Sign up' }).click();
      const counted = async () => {
        const names = (await ask('/insights/demo/events/names?range=today')) as unknown as { name: string }[];
        return names.map(({ name }) => name);
      };
      await expect
        .poll(counted, WAIT)
        .toEqual(expect.arrayContaining(['screen_view', 'pricing_seen', 'signup']));
      // An event of this name came from a curl, too.
      const signups = async () => {
        const { data } = (await ask('/export/events?event=signup&includes=properties')) as unknown as {
          data: { path: string; properties: Record<string, string> }[];
        };
        return data.filter(({ path }) => path === '/pricing').map(({ properties }) => properties);
      };
      await expect.poll(signups, WAIT).toEqual([{ plan: 'pro' }]);
      expect(errors).toEqual([]);
    } finally {
      pages.closeAllConnections();
      pages.close();
    }
  });

  test.skipIf(curl === undefined)("the documentation's sample in curl is answered as it stands", async () => {
    const { page } = await openPage(browser as Browser);
    await page.goto(`${url}/documentation#tag/insights/GET/insights/{projectId}/metrics`);
    const { id, secret } = credentials.clients.read;
    const fields = page.locator('.scalar-password-input');
    await fields.nth(0).fill(id);
    await fields.nth(1).fill(secret);
    await page.getByRole('tab', { name: 'Shell' }).click();
    const sample = page.locator('pre', { hasText: 'curl' }).filter({ hasText: '/metrics' }).first();
    await sample.waitFor();
    const [answer] = await shell((await sample.textContent()) ?? '');
    expect(answer).toMatchObject({ status: 200, body: { interval: 'day' } });
  });
});

/**
 * Statuses of examples that a fresh start rejects, as their descriptions say: its site is not deleted, so not restored, and its live
 * visitors are not public.
 */
const STATUSES: Readonly<Record<string, number>> = {
  'POST /manage/projects/{projectId}/restore': 409,
  'GET /live/{projectId}': 401,
  'GET /live/{projectId}/events': 401,
  'GET /live/visitors/{projectId}': 401,
  'GET /live/{projectId}.json': 401,
  'GET /live/{projectId}.svg': 401,
  'GET /live/{projectId}/embed': 401,
  'POST /sign-in (client)': 401,
  'POST /sign-in (link)': 401,
  'GET /session': 401,
  'POST /sign-out': 204,
};

test('every example request of the API description is answered as the description says', async () => {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument;
  const requests = exampleRequests(document);
  expect(requests.length).toBeGreaterThan(80);
  const unexpected: string[] = [];
  for (const { name, method, target, body, client, isMadeUp } of requests) {
    expect(target).not.toMatch(/[/=]shop\b/);
    const known = client === undefined ? undefined : credentials.clients[client];
    const answer = await fetch(url + target, {
      method,
      headers: {
        ...(known && { 'service-client-id': known.id, 'service-client-secret': known.secret }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    // An id that is made up is not found, and everything else is.
    const expected = STATUSES[name] ?? (isMadeUp ? 404 : 200);
    if (answer.status !== expected) unexpected.push(`${name}: ${answer.status} ${text.slice(0, 200)}`);
  }
  expect(unexpected).toEqual([]);
});

interface CurlAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Runs lines like a newcomer does, in a shell beside the data folder; returns the answer of each `curl`. */
async function shell(lines: string): Promise<readonly CurlAnswer[]> {
  const reporting = `curl() { command "$CURL" --silent --show-error --write-out '\\n%{http_code}\\n' "$@"; }`;
  const { stdout } = await run('bash', ['-euc', `${reporting}\n${lines}`], {
    cwd: folder,
    env: { ...process.env, CURL: curl },
    timeout: BASH_MAX_MS,
  });
  const said = stdout.trim().split('\n');
  return Array.from({ length: said.length / 2 }, (_, index) => ({
    body: JSON.parse(said[index * 2] ?? ''),
    status: Number(said[index * 2 + 1]),
  }));
}

async function ask(path: string): Promise<Record<string, unknown>> {
  const { id, secret } = credentials.clients.read;
  const answer = await fetch(url + path, {
    headers: { 'service-client-id': id, 'service-client-secret': secret },
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
}
