import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** A page with all errors that occurred in it. */
export interface TestPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Exceptions, unhandled rejections, console output and violations of the content security policy. */
  readonly errors: string[];
  close(): Promise<void>;
}

/** A user agent that no list takes for a bot. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
/** The language, time zone and screen of every visitor. */
export const VISITOR_LOCALE = { language: 'de-AT', timezone: 'Asia/Kolkata', screen: '1366x768' };
/** Console messages of the browser itself about failed requests are not errors of the script. */
const NETWORK_MESSAGES = /^Failed to load resource|net::ERR_|blocked by CORS policy/;
const REPORT_ERRORS = `
  addEventListener('securitypolicyviolation', (event) =>
    console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));
  addEventListener('unhandledrejection', (event) => console.error('unhandled: ' + event.reason));
`;

/** Starts a Chromium with the back-forward cache, as visitors' browsers have it. */
export function startBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // A user agent set for a page is not used for requests sent while the page is left.
    args: ['--no-sandbox', `--user-agent=${USER_AGENT}`],
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  });
}

/** Opens a page as a new visitor. */
export async function openPage(browser: Browser): Promise<TestPage> {
  const context = await browser.newContext({
    locale: VISITOR_LOCALE.language,
    timezoneId: VISITOR_LOCALE.timezone,
    viewport: { width: 1280, height: 600 },
    screen: { width: 1366, height: 768 },
  });
  const errors: string[] = [];
  await context.addInitScript(REPORT_ERRORS);
  context.on('weberror', (failure) => errors.push(String(failure.error())));
  context.on('console', (message) => {
    if (!NETWORK_MESSAGES.test(message.text())) errors.push(message.text());
  });
  const page = await context.newPage();
  return { page, context, errors, close: () => context.close() };
}
