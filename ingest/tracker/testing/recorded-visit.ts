import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { openPage, startBrowser, type TestPage } from './test-browser.ts';
import { type RecordedCall, startTestSite, type TestSite } from './test-site.ts';

export const CLIENT_ID = '6b3b7a3c-3f0a-4c8a-9d5e-0d1f5a2b7c11';
export const WAIT = { timeout: 10_000, interval: 10 };

/** The stub that consists of one function. */
export const PLAIN_STUB =
  'window.op = window.op || function () { (window.op.q = window.op.q || []).push([].slice.call(arguments)); };';

/** Tools of a test of the script against the recording endpoint; fresh for each test. */
export interface RecordedVisit {
  readonly site: TestSite;
  readonly visitor: TestPage;
  /**
   * Opens a page that makes these calls to a stub and then loads the script; `OFF` are options that collect nothing.
   */
  open(calls: string, options?: { readonly stub?: string; readonly script?: string }): Promise<void>;
  /** Runs calls on the open page. */
  run<Result>(calls: string): Promise<Result>;
  /** Advances the page's clock by this time. */
  advance(durationMs: number): Promise<void>;
  /** The next `count` recorded calls. Sends one more behind them and fails when others arrived before it. */
  calls(count: number): Promise<readonly RecordedCall[]>;
}

/** Sets up browser, site and visitor for the tests of a file. After each test, the page must have no errors. */
export function useRecordedVisit(chromium: string | undefined): RecordedVisit {
  let browser: Browser;
  let site: TestSite;
  let visitor: TestPage;
  beforeAll(async () => {
    if (chromium === undefined) return;
    site = await startTestSite();
    browser = await startBrowser(chromium);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.stop();
  });
  beforeEach(async () => {
    if (chromium === undefined) return;
    site.reset();
    visitor = await openPage(browser);
    await visitor.page.clock.install();
  });
  afterEach(async () => {
    if (chromium === undefined) return;
    const { errors } = visitor;
    await visitor.close();
    expect(errors).toEqual([]);
  });
  const run = <Result>(calls: string): Promise<Result> =>
    visitor.page.evaluate(`(async () => { ${calls} })()`);
  return {
    get site() {
      return site;
    },
    get visitor() {
      return visitor;
    },
    run,
    advance: (durationMs) => visitor.page.clock.runFor(durationMs),
    open: async (calls, { stub = PLAIN_STUB, script = '<script src="/script.js" async></script>' } = {}) => {
      const names = `var API = '${site.apiUrl}', OFF = { clientId: '${CLIENT_ID}', apiUrl: API, trackScreenViews: false };`;
      const html = `<!doctype html><title>Page</title><script>${names}${stub}${calls}</script>${script}`;
      site.show('/page', html);
      await visitor.page.goto(`${site.url}/page`);
    },
    calls: async (count) => {
      await expect.poll(() => site.calls.length, WAIT).toBeGreaterThanOrEqual(count);
      // A page that is left before it has the answer may send the call again, for which the service has its id.
      const answered = visitor.page.waitForResponse((response) => isBehind(response.request().postData()));
      await run(`op('track', 'behind')`);
      await expect.poll(() => site.calls.at(-1)?.payload.name, WAIT).toBe('behind');
      await answered;
      const made = site.calls.splice(0).slice(0, -1);
      expect(made).toHaveLength(count);
      return made;
    },
  };
}

/** True if a body is the call that `calls` sends. */
function isBehind(body: string | null): boolean {
  return body?.includes('"name":"behind"') ?? false;
}

/** The properties of a recorded event. */
export function propertiesOf(call: RecordedCall | undefined): Readonly<Record<string, unknown>> {
  return (call?.payload.properties ?? {}) as Record<string, unknown>;
}

/** The names of recorded events, in order of arrival. */
export function namesOf(calls: readonly RecordedCall[]): unknown[] {
  return calls.map(({ payload }) => payload.name);
}
