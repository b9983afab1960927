import { z } from 'zod';
import { badgeQuery, connectionQuery, embedQuery, liveNumberAnswer, numberQuery } from '../live/live-api.ts';
import { type DescribedAnswer, type DescribedOperation, IF_NONE_MATCH, UNCHANGED } from './operation.ts';

/** The operations below `/live`, and the widget's script. */

const ACCESS =
  'Public for a site with `publicWidget`; there a browser needs an origin that the `cors` list of the site has (403), or that of this service. Otherwise send a read or root client and its secret, or `token` from `GET /insights/{projectId}/live/token`. What is sent is judged: a wrong secret or token is 401 for a public site, too. Without credentials, an unknown or deleted site is 401 like one that is not public, so the answer does not tell which sites exist; a root client gets 404. Requests without a client: 100 in 10 seconds from one address (IPv6: from one /64 network), then 429.';
const CONNECTIONS =
  'A number is sent at once and whenever it changes, at most four times a second, each time the newest; a slow connection skips numbers and then gets the newest. While a processor is away nothing is sent, so that the last number stays: a zero is always true. A connection ends within two seconds when its site is deleted or is no longer public, when its token expires, or when its client may no longer ask. Each process has at most `LIVE_CONNECTIONS_MAX` connections (20,000), one site half of them, else 503; one address at most `LIVE_CONNECTIONS_PER_ADDRESS_MAX` (100), else 429, both with `Retry-After` and before the upgrade.';
const COUNT =
  'Live visitors are distinct visitors with an event in the last five minutes, as in `GET /insights/{projectId}/live`.';

/** `/live/*`, `/widget.js` and `/wall.js`. */
export const LIVE: readonly DescribedOperation[] = [
  operation('/live/:projectId', 'Follow the live visitors by WebSocket', {
    description: `A request with \`Upgrade: websocket\` opens a WebSocket that sends \`{"visitors":7,"at":"2026-01-05T09:12:44.120Z"}\` as text. Any other request is answered as \`/live/{projectId}.json\`.\n\n${COUNT} ${CONNECTIONS} Close code 4403: no longer allowed; 1012: the service restarts, connect again. Messages of clients are ignored; one over 1 KiB ends the connection.\n\n${ACCESS}`,
    parameters: numberQuery,
    answers: [json(liveNumberAnswer)],
    errors: [400, 401, 403, 404, 429, 500, 503],
  }),
  operation('/live/:projectId/events', 'Follow the live visitors by server-sent events', {
    description: `A stream for \`EventSource\`: each event's data is the JSON of \`/live/{projectId}\`, with comments between them every 20 seconds, and \`retry: 3000\`.\n\n${COUNT} ${CONNECTIONS}\n\n${ACCESS}`,
    parameters: connectionQuery,
    answers: [text('text/event-stream')],
    errors: [400, 401, 403, 404, 429, 500, 503],
  }),
  operation('/live/visitors/:projectId', 'Follow the bare number of live visitors by WebSocket', {
    description: `A request with \`Upgrade: websocket\` opens a WebSocket that sends the bare number as text, such as \`7\`. Any other request is answered with the present number as text.\n\n${COUNT} ${CONNECTIONS}\n\n${ACCESS}`,
    parameters: connectionQuery,
    answers: [text('text/plain')],
    errors: [400, 401, 403, 404, 429, 500, 503],
  }),
  operation('/live/:projectId.json', 'Get the live visitors', {
    description: `${COUNT} With \`details=true\` also the ten pages with most live visitors, and the last 30 minutes. A client, and a token that was made with \`wall=true\`, also get the ten referrers with most live visitors, and with \`today=true\` the visitors of today beside those of the same day a week ago up to the same time; for others \`today=true\` is 403. Countries are only in \`GET /insights/{projectId}/live\`. 503 while a processor is away, and with \`today=true\` while the store is.\n\n${ACCESS}`,
    parameters: numberQuery,
    answers: [json(liveNumberAnswer)],
    errors: [400, 401, 403, 404, 429, 500, 503],
  }),
  operation('/live/:projectId.svg', 'Get the live visitors as a badge', {
    description: `An SVG image with a label and the number, cacheable for ten seconds where the site is public. A dash in place of the number while a processor is away.\n\n${COUNT}\n\n${ACCESS}`,
    parameters: badgeQuery,
    answers: [text('image/svg+xml')],
    errors: [400, 401, 403, 404, 429, 500],
  }),
  operation('/live/:projectId/embed', 'Get a page with the widget, for a frame or a screen', {
    description: `A page that contains the widget alone. Pages of the site's \`cors\` list may frame it, by its \`Content-Security-Policy\`. In a frame, the number is read from the page's own origin. \`look=wall\` is a page for a whole screen: number, minutes, pages, and for a client or a token that was made with \`wall=true\` also referrers and today.\n\n${ACCESS}`,
    parameters: embedQuery,
    answers: [text('text/html')],
    errors: [400, 401, 403, 404, 429, 500],
  }),
  operation('/widget.js', 'Get the widget', {
    description:
      'Defines the custom element `<live-visitors site="demo">`, which shows and follows the live visitors. Cacheable for one hour, with an `ETag`; any page may load it.',
    parameters: z.object({}),
    answers: [text('text/javascript'), UNCHANGED],
    errors: [500],
  }),
  operation('/wall.js', 'Get the script of the wall page', {
    description:
      'Fills the page of `/live/{projectId}/embed?look=wall`. Cacheable for one hour, with an `ETag`.',
    parameters: z.object({}),
    answers: [text('text/javascript'), UNCHANGED],
    errors: [500],
  }),
];

function operation(
  pattern: string,
  summary: string,
  {
    description,
    parameters,
    answers,
    errors,
  }: Pick<DescribedOperation, 'description' | 'parameters' | 'answers' | 'errors'>,
): DescribedOperation {
  return {
    method: 'get',
    pattern,
    tag: 'Live',
    summary,
    description,
    access: errors.includes(401) ? 'viewer' : 'public',
    parameters,
    headers: answers.includes(UNCHANGED) ? [IF_NONE_MATCH] : [],
    body: undefined,
    answers,
    errors,
  };
}

function json(schema: z.ZodType): DescribedAnswer {
  return {
    status: 200,
    description: 'Success.',
    contentType: 'application/json',
    schema,
    headers: [],
  };
}

function text(contentType: string): DescribedAnswer {
  return {
    status: 200,
    description: 'The content as text.',
    contentType,
    schema: undefined,
    headers: [],
  };
}
