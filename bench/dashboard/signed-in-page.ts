import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { Credential } from '../cluster/client.ts';
import type { Cluster } from '../cluster/cluster.ts';

/** A page of the dashboard, with the lists that must stay empty. */
export interface DashboardPage {
  readonly page: Page;
  /** Exceptions, warnings and errors of the console, among them breaches of the content security policy. */
  readonly troubles: readonly string[];
  /** Requests to other origins. They are blocked. */
  readonly outside: readonly string[];
}

interface DashboardOptions {
  readonly hash?: string;
  readonly role?: 'root' | 'read';
  /** False: the page begins with the form. */
  readonly isSignedIn?: boolean;
  readonly browser?: BrowserContextOptions;
}

/** Opens the dashboard of a real service in a separate browser, which a first client has signed in. */
export async function openDashboard(
  browser: Browser,
  cluster: Cluster,
  { hash = '', role = 'root', isSignedIn = true, browser: options = {} }: DashboardOptions = {},
): Promise<DashboardPage> {
  const url = cluster.url('web');
  const troubles: string[] = [];
  const outside: string[] = [];
  const context = await browser.newContext(options);
  context.on('weberror', (failure) => troubles.push(String(failure.error())));
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !isExpected(message.text()))
      troubles.push(message.text());
  });
  await context.route('**/*', (route) => {
    if (new URL(route.request().url()).origin === url) return route.continue();
    outside.push(route.request().url());
    return route.abort();
  });
  if (isSignedIn) await signIn(context, url, cluster.credentials.clients[role]);
  const page = await context.newPage();
  await page.goto(`${url}/${hash}`);
  return { page, troubles, outside };
}

/** Gives the browser the cookie of a client. */
async function signIn(context: BrowserContext, url: string, { id, secret }: Credential): Promise<void> {
  const response = await context.request.post(`${url}/sign-in`, {
    data: { clientId: id, clientSecret: secret },
  });
  if (!response.ok()) throw new Error(`/sign-in: ${response.status()} ${await response.text()}`);
}

/** The browser reports answers that the page shows: not signed in, not found, taken, invalid or changed. */
function isExpected(text: string): boolean {
  return /status of (?:400|401|404|409|412)|HTTP Authentication failed/.test(text);
}
