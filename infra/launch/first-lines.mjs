/**
 * @typedef {object} SiteCredentials
 * @property {string} projectId
 * @property {{ root: Client, read: Client, write: Client }} clients
 */
/** @typedef {{ readonly id: string, readonly secret: string }} Client */

// Requests of servers do not count as page views, so the example sends a browser's user agent.
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36';

/**
 * The lines at the end of the first start. Secrets are shown only here.
 * @param {{ url: string, credentials: SiteCredentials, credentialsPath: string, cors: readonly string[], tokenPath:
 * string | undefined, signIn: string | null }} facts `cors` are the origins that the site allows; `tokenPath` is the file with the token of the
 * metrics, undefined when they need none; `signIn` is the token of the link for a browser
 * @returns {string[]}
 */
export function firstStartLines({ url, credentials, credentialsPath, cors, tokenPath, signIn }) {
  const { projectId, clients } = credentials;
  return [
    '',
    `footfall is running at ${url}`,
    '',
    `Created a team, the site "${projectId}" and three clients. Their secrets are stored in`,
    `${credentialsPath} and are not shown again.`,
    '',
    ...['root', 'read', 'write'].map((name) => {
      const client = clients[/** @type {'root' | 'read' | 'write'} */ (name)];
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

/**
 * The lines at the end of every later start.
 * @param {{ url: string, credentialsPath: string, tokenPath: string | undefined }} facts
 * @returns {string[]}
 */
export function laterStartLines({ url, credentialsPath, tokenPath }) {
  return [
    '',
    `footfall is running at ${url}`,
    `Clients and secrets: ${credentialsPath}`,
    `Dashboard: ${url} (a link that signs you in: npm run admin -- sign-in)`,
    ...tokenLines(tokenPath),
    'Press Ctrl-C to stop.',
  ];
}

/**
 * @param {string} url
 * @param {string | null} token
 */
function signInLines(url, token) {
  if (token === null) return [];
  return [
    'Open the dashboard, signed in (works once, for an hour; a new link: npm run admin -- sign-in):',
    '',
    `  ${url.replace(/\/+$/, '')}/#sign-in=${token}`,
    '',
  ];
}

/**
 * @param {string | undefined} tokenPath
 * @returns {string[]}
 */
function tokenLines(tokenPath) {
  if (tokenPath === undefined) return [];
  return [`Token for /metrics and the details of /healthz/ready: operationsToken in ${tokenPath}`];
}

/**
 * @param {string} url
 * @param {string} projectId
 * @param {{ cors: readonly string[], root: Client }} site
 */
function corsLines(url, projectId, { cors, root }) {
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

/**
 * @param {string} url
 * @param {Client} client
 */
function trackCommand(url, client) {
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

/**
 * @param {string} url
 * @param {string} projectId
 * @param {Client} client
 */
function liveCommand(url, projectId, client) {
  return [
    `  curl ${url}/insights/${projectId}/live \\`,
    `    -H 'service-client-id: ${client.id}' \\`,
    `    -H 'service-client-secret: ${client.secret}'`,
  ];
}

/**
 * @param {string} url
 * @param {Client} client
 */
function pageSnippet(url, client) {
  return [`  <script async src="${url}/script.js" data-client-id="${client.id}"></script>`];
}
