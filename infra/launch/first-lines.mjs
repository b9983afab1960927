/**
 * @typedef {object} Credentials
 * @property {string} projectId
 * @property {{ root: Client, read: Client, write: Client }} clients
 */
/** @typedef {{ readonly id: string, readonly secret: string }} Client */

// A server's own requests do not count as somebody looking at a page; the example should, so it names a browser.
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36';

/**
 * What the first start says at its end. Secrets are shown this once.
 * @param {{ url: string, credentials: Credentials, credentialsPath: string }} facts
 * @returns {string[]}
 */
export function firstStartLines({ url, credentials, credentialsPath }) {
  const { projectId, clients } = credentials;
  return [
    '',
    `footfall is running at ${url}`,
    '',
    `A team, the site "${projectId}" and three clients were made. They are kept in`,
    `${credentialsPath}; the secrets are not shown again.`,
    '',
    ...['root', 'read', 'write'].map((name) => {
      const client = clients[/** @type {'root' | 'read' | 'write'} */ (name)];
      return `  ${name.padEnd(6)} ${client.id}  ${client.secret}`;
    }),
    '',
    'Send an event:',
    '',
    ...trackCommand(url, clients.write),
    '',
    'Ask for the live number:',
    '',
    ...liveCommand(url, projectId, clients.read),
    '',
    'Count the views of a page (its origin must be allowed for the site):',
    '',
    ...pageSnippet(url, clients.write),
    '',
    'Ctrl-C ends it.',
  ];
}

/**
 * What every later start says at its end.
 * @param {{ url: string, credentialsPath: string }} facts
 * @returns {string[]}
 */
export function laterStartLines({ url, credentialsPath }) {
  return ['', `footfall is running at ${url}`, `Clients and secrets: ${credentialsPath}`, 'Ctrl-C ends it.'];
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
