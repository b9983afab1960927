/** Code with which a site sends its events, in the languages of pages and servers. */

export interface Snippet {
  readonly id: string;
  readonly title: string;
  readonly note: string;
  readonly textOf: (ids: SnippetIds) => string;
}

export interface SnippetIds {
  /** Address of the service, without a trailing slash. */
  readonly base: string;
  readonly clientId: string;
}

export const SNIPPETS: readonly Snippet[] = [
  {
    id: 'html',
    title: 'HTML',
    note: 'Put this into the head of every page. It counts page views, also where a page changes its address without loading.',
    textOf: ({ base, clientId }) =>
      `<script async src="${base}/script.js"
  data-client-id="${clientId}" data-track-screen-views></script>`,
  },
  {
    id: 'clicks',
    title: 'HTML with clicks',
    note: 'Counts page views, links that lead away, and clicks on what has a data-track attribute.',
    textOf: ({ base, clientId }) => `<script async src="${base}/script.js"
  data-client-id="${clientId}" data-track-screen-views
  data-track-outgoing-links data-track-attributes></script>

<button data-track="signup" data-plan="pro">Sign up</button>`,
  },
  {
    id: 'web',
    title: 'npm, browser',
    note: 'For applications that are bundled: npm install @openpanel/web',
    textOf: ({ base, clientId }) => `import { OpenPanel } from '@openpanel/web';

const op = new OpenPanel({
  apiUrl: '${base}',
  clientId: '${clientId}',
  trackScreenViews: true,
});
op.track('signup', { plan: 'pro' });`,
  },
  {
    id: 'node',
    title: 'Node.js',
    note: 'For servers, which hold the secret: npm install @openpanel/sdk',
    textOf: ({ base, clientId }) => `import { OpenPanel } from '@openpanel/sdk';

const op = new OpenPanel({
  apiUrl: '${base}',
  clientId: '${clientId}',
  clientSecret: process.env.CLIENT_SECRET,
});
await op.track('signup', { profileId: 'user-1', plan: 'pro' });`,
  },
  {
    id: 'python',
    title: 'Python',
    note: 'Any HTTP client will do: one POST for each event.',
    textOf: ({ base, clientId }) => `import os, requests

requests.post("${base}/track", timeout=5, headers={
    "service-client-id": "${clientId}",
    "service-client-secret": os.environ["CLIENT_SECRET"],
    "service-client-ip": visitor_ip,
    "user-agent": visitor_user_agent,
}, json={"type": "track", "payload": {"name": "signup", "properties": {"plan": "pro"}}})`,
  },
  {
    id: 'php',
    title: 'PHP',
    note: 'Sends the visitor’s address and browser, so that the event joins the visit.',
    textOf: ({
      base,
      clientId,
    }) => `file_get_contents('${base}/track', false, stream_context_create(['http' => [
  'method' => 'POST',
  'header' => [
    'content-type: application/json',
    'service-client-id: ${clientId}',
    'service-client-secret: ' . getenv('CLIENT_SECRET'),
    'service-client-ip: ' . $_SERVER['REMOTE_ADDR'],
    'user-agent: ' . $_SERVER['HTTP_USER_AGENT'],
  ],
  'content' => json_encode(['type' => 'track', 'payload' => ['name' => 'signup']]),
]]));`,
  },
  {
    id: 'curl',
    title: 'curl',
    note: 'To try it from a shell.',
    textOf: ({ base, clientId }) => `curl ${base}/track \\
  -H 'content-type: application/json' \\
  -H 'service-client-id: ${clientId}' -H "service-client-secret: $CLIENT_SECRET" \\
  -H 'service-client-ip: 8.8.8.8' -H 'user-agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/127.0' \\
  -d '{"type":"track","payload":{"name":"signup","properties":{"plan":"pro"}}}'`,
  },
];
