export interface SiteCredentials {
  readonly projectId: string;
  readonly clients: Readonly<Record<'root' | 'read' | 'write', SiteClient>>;
}

interface SiteClient {
  readonly id: string;
  readonly secret: string;
}

// Requests of servers do not count as page views, so the example sends a browser's user agent.
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36';

interface FirstFacts {
  readonly url: string;
  readonly credentials: SiteCredentials;
  readonly credentialsPath: string;
  /** The origins that the site allows. */
  readonly cors: readonly string[];
  /** The file with the token of the metrics; undefined when they need none. */
  readonly tokenPath: string | undefined;
  /** The token of the link for a browser. */
  readonly signIn: string | null;
}

/** The lines at the end of the first start. Secrets are shown only here. */
export function firstStartLines({
  url,
  credentials,
  credentialsPath,
  cors,
  tokenPath,
  signIn,
}: FirstFacts): string[] {
  const { projectId, clients } = credentials;
  return [
    '',
    `footfall is running at ${url}`,
    '',
    `Created a team, the site "${projectId}" and three clients. Their secrets are stored in`,
    `${credentialsPath} and are not shown again.`,
    '',
    ...['root', 'read', 'write'].map((name) => {
      const client = clients[name as 'root' | 'read' | 'write'];
      return `  ${name.padEnd(6)} ${client.id}  ${client.secret}`;
    }),
    '',
    ...signInLines(url, signIn),
    'Send an event:',
    '',
    ...trackCommand(url, clients.write),
    '',
    'Query the live number:',
    '',
    ...liveCommand(url, projectId, clients.read),
    '',
    'Track a web page (its origin must be allowed for the site):',
    '',
    ...pageSnippet(url, clients.write),
    '',
    ...(cors.includes('*') ? [] : corsLines(url, projectId, { cors, root: clients.root })),
    ...tokenLines(tokenPath),
    'Press Ctrl-C to stop.',
  ];
}

/** The lines at the end of every later start. */
export function laterStartLines({
  url,
  credentialsPath,
  tokenPath,
}: {
  url: string;
  credentialsPath: string;
  tokenPath: string | undefined;
}): string[] {
  return [
    '',
    `footfall is running at ${url}`,
    `Clients and secrets: ${credentialsPath}`,
    `Dashboard: ${url} (a link that signs you in: npm run admin -- sign-in)`,
    ...tokenLines(tokenPath),
    'Press Ctrl-C to stop.',
  ];
}

function signInLines(url: string, token: string | null) {
  if (token === null) return [];
  return [
    'Open the dashboard, signed in (works once, for an hour; a new link: npm run admin -- sign-in):',
    '',
    `  ${url.replace(/\/+$/, '')}/#sign-in=${token}`,
    '',
  ];
}

function tokenLines(tokenPath: string | undefined): string[] {
  if (tokenPath === undefined) return [];
  return [`Token for /metrics and the details of /healthz/ready: operationsToken in ${tokenPath}`];
}

function corsLines(
  url: string,
  projectId: string,
  { cors, root }: { cors: readonly string[]; root: SiteClient },
) {
  const now = cors.length === 0 ? 'no origin yet' : `only ${cors.join(', ')}`;
  return [
    `The site allows ${now}. To allow the origins of your pages:`,
    '',
    `  curl -X PATCH ${url}/manage/projects/${projectId} -H 'content-type: application/json' \\`,
    `    -H 'service-client-id: ${root.id}' \\`,
    `    -H 'service-client-secret: ${root.secret}' \\`,
    `    -d '{"cors":["https://www.example.com"]}'`,
    '',
  ];
}

function trackCommand(url: string, client: SiteClient) {
  const body = {
    type: 'track',
    payload: { name: 'screen_view', properties: { __path: 'https://example.com/hello' } },
  };
  return [
    `  curl ${url}/track -H 'content-type: application/json' \\`,
    `    -H 'service-client-id: ${client.id}' \\`,
    `    -H 'service-client-secret: ${client.secret}' \\`,
    `    -A '${BROWSER}' \\`,
    `    -d '${JSON.stringify(body)}'`,
  ];
}

function liveCommand(url: string, projectId: string, client: SiteClient) {
  return [
    `  curl ${url}/insights/${projectId}/live \\`,
    `    -H 'service-client-id: ${client.id}' \\`,
    `    -H 'service-client-secret: ${client.secret}'`,
  ];
}

function pageSnippet(url: string, client: SiteClient) {
  return [`  <script async src="${url}/script.js" data-client-id="${client.id}"></script>`];
}
