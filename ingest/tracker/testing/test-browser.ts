import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** A page with everything that went wrong in it. */
export interface TestPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Exceptions, unhandled rejections, console output and breaches of the content security policy. */
  readonly troubles: string[];
  close(): Promise<void>;
}

/** A user agent that no list takes for a robot. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
/** What the browser itself says of a request that failed is no fault of the script. */
const OF_THE_NETWORK = /^Failed to load resource|net::ERR_|blocked by CORS policy/;
const TELL_TROUBLES = `
  addEventListener('securitypolicyviolation', (event) =>
    console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));
  addEventListener('unhandledrejection', (event) => console.error('unhandled: ' + event.reason));
`;

/** Starts a Chromium that keeps pages in its back-forward cache, as those of visitors do. */
export function startBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // A user agent set for a page does not hold for what is sent when that page is left.
    args: ['--no-sandbox', `--user-agent=${USER_AGENT}`],
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  });
}

/** Opens a page of a new visitor. */
export async function openPage(browser: Browser): Promise<TestPage> {
  const context = await browser.newContext();
  const troubles: string[] = [];
  await context.addInitScript(TELL_TROUBLES);
  context.on('weberror', (failure) => troubles.push(String(failure.error())));
  context.on('console', (message) => {
    if (!OF_THE_NETWORK.test(message.text())) troubles.push(message.text());
  });
  const page = await context.newPage();
  return { page, context, troubles, close: () => context.close() };
}
