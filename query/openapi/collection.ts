import { z } from 'zod';
import { batchSchema, bodySchema } from '../../ingest/track-schema.ts';
import { trackingShown } from '../manage/project-api.ts';
import {
  type DescribedAnswer,
  type DescribedOperation,
  type ErrorStatus,
  IF_NONE_MATCH,
  type RequestHeader,
  UNCHANGED,
} from './operation.ts';
import { trackBatch, trackBody } from './track-body.ts';

/** The operations of the ingest room. They are described here because ingest has no list of endpoints. */

const identity = {
  deviceId: z
    .string()
    .describe(
      'The device id: 32 hexadecimal digits, or the `__deviceId` of the request. Empty when there is none.',
    ),
  sessionId: z.string().describe('The session that the event is stored under. Empty when there is none.'),
};

/** `POST /track`, 200 */
export const trackedAnswer = z.object(identity);
/** `POST /track`, 202 */
export const excludedAnswer = z.union([
  z
    .object({ bot: z.object({ name: z.string(), type: z.string() }) })
    .describe('The request came from a bot.'),
  z
    .object({ filtered: z.literal(true), reason: z.string().optional() })
    .describe(
      'A filter of the site matched the event; or, with a `reason`, the referrer is known spam (`referrer spam: semalt.com`), the request is a replay (`replay: sessions are not recorded`), or a page without a secret wants to change a profile or group of another device (`profile: …`, `group: …`).',
    ),
]);
/** `POST /track/batch`, 200 */
export const batchAnswer = z.object({
  accepted: z.number().describe('Number of bodies stored.'),
  rejected: z
    .array(
      z.object({
        index: z.number().describe('Index of the body in the batch, starting at 0.'),
        status: z
          .number()
          .describe(
            'The status that `POST /track` returns for this body. 202 for what is understood and not recorded.',
          ),
        message: z.string().describe('Why the body was not stored.'),
      }),
    )
    .describe('The bodies that were not stored.'),
});
/** `GET /track/device-id`, 200 */
export const deviceAnswer = z.object({
  ...identity,
  sessionId: z.string().describe('The session that the next event of the visitor joins.'),
  message: z
    .enum(['current session', 'previous-day session', 'new session'])
    .describe(
      '`current session`: an open session. `previous-day session`: an open session under the device id of the day before. `new session`: no session is open.',
    ),
});
const trackingError = z.object({ error: z.string().describe('What is wrong, starting with the parameter.') });

const VISITOR_ADDRESS: RequestHeader = {
  name: 'service-client-ip',
  description:
    "The visitor's IP address, for requests that a server sends on the visitor's behalf. Used only with a valid secret, or from a trusted proxy where `CLIENT_IP_HEADER` names this header. Never stored.",
};
const USER_AGENT: RequestHeader = {
  name: 'User-Agent',
  description:
    "The visitor's user agent. Browser, operating system and device are derived from it. Browsers and apps (`Dalvik`, `okhttp`, `CFNetwork`, or an agent that names a phone, a tablet, a television, a console or macOS) are visitors on a device. With a secret, a request with any other agent comes from a server: without `__deviceId` and without a property such as `__os` its events have no device and no session.",
};
const ACCEPT_LANGUAGE: RequestHeader = {
  name: 'Accept-Language',
  description:
    "The visitor's languages, sent by browsers. The first one is the language of an event without `__language`.",
};
const ORIGIN: RequestHeader = {
  name: 'Origin',
  description:
    "The origin of the page, sent by browsers. Without a secret it must be one of the site's allowed origins.",
};
const IDEMPOTENCY_KEY: RequestHeader = {
  name: 'Idempotency-Key',
  description: 'An idempotency key of 1 to 64 characters. Used when the body has no `eventId`.',
};
const SDK: readonly RequestHeader[] = ['name', 'version'].map((what) => ({
  name: `service-sdk-${what}`,
  description: `The ${what} of the SDK that sends the request.`,
}));

const SENDING: readonly ErrorStatus[] = [400, 401, 403, 404, 413, 415, 429, 500, 503];
const NOTHING = z.object({});

/** The operations of the ingest room. An installation may add further prefixes of the same paths. */
export const COLLECTION: readonly DescribedOperation[] = [
  {
    method: 'post',
    pattern: '/track',
    tag: 'Track',
    summary: 'Record an event, or update a profile or group',
    description: [
      'Returns 200 once the event is durable. Requests are checked in this order: size, JSON, fields (400), client (401), bots and site filters (202), whose profile or group it is (202).',
      'Pages on an allowed origin of the site send only a client id, as a header or as `clientId` in the body. Requests with a valid secret are never treated as bots and may carry events of any age.',
      'Apps send a secret. They are recognized by their user agent, or by `__os`, `__osVersion`, `__brand`, `__model`, `__device`, `__browser` and `__browserVersion` in the properties, which override the user agent.',
      'A site may have an event rate (`eventsPerSecondMax` in its settings), for all senders together, with a secret or without, and whatever the time of an event. Answers then have the `RateLimit` headers. Beyond the rate a request gets 429 with `Retry-After` and is counted as excluded, with the reason `rate`.',
      'After a 503 it is unknown whether the event was stored. Retry with the same `eventId`, so that it counts once. Maximum body size: 64 KiB.',
    ].join('\n\n'),
    access: 'sender',
    parameters: NOTHING,
    headers: [VISITOR_ADDRESS, USER_AGENT, ACCEPT_LANGUAGE, ORIGIN, IDEMPOTENCY_KEY, ...SDK],
    body: { schema: bodySchema, shown: trackBody() },
    answers: [
      answer(200, 'The event is durable and counted.', trackedAnswer),
      answer(
        202,
        'The request is valid but was not recorded, because of a bot, referrer spam or a site filter, because it is a replay, or because it would change a profile or group of another device without a secret. It is counted as excluded.',
        excludedAnswer,
      ),
    ],
    errors: SENDING,
  },
  {
    method: 'post',
    pattern: '/track/batch',
    tag: 'Track',
    summary: 'Record a batch',
    description: [
      'Takes up to 2,000 bodies of `POST /track`, each with its own `__timestamp` and `eventId`. Maximum request size: 4 MiB. An invalid body does not fail the others. Each body beyond the event rate of its site is listed with 429; the answer then has `Retry-After`.',
      'With a secret, a body may also carry the address and the user agent of its own visitor, as `__ip` and `__userAgent`: so an import of many visitors keeps each on a device of its own.',
      'The whole batch fails when the client in the headers is not allowed to send, or when the service can store none of the bodies (503). `Idempotency-Key` is ignored.',
    ].join('\n\n'),
    access: 'sender',
    parameters: NOTHING,
    headers: [VISITOR_ADDRESS, USER_AGENT, ACCEPT_LANGUAGE, ORIGIN, ...SDK],
    body: { schema: batchSchema, shown: trackBatch() },
    answers: [answer(200, 'Every body was either stored or rejected.', batchAnswer)],
    errors: SENDING,
  },
  {
    method: 'get',
    pattern: '/track/device-id',
    tag: 'Track',
    summary: 'Get the device and session of a visitor',
    description:
      'Returns the open session, or the id of the session that the next event will open. Same-origin pages, whose browsers send no `Origin` here, are recognized by `Referer`.',
    access: 'sender',
    parameters: z.object({
      projectId: z
        .string()
        .optional()
        .describe('The site. Required for root clients, which are not bound to a site.'),
    }),
    headers: [VISITOR_ADDRESS, USER_AGENT, ORIGIN],
    body: undefined,
    answers: [answer(200, 'The device and session of the visitor.', deviceAnswer)],
    errors: [400, 401, 403, 404, 429, 500, 503],
  },
  {
    method: 'get',
    pattern: '/config/tracking',
    tag: 'Track',
    summary: 'Get the tracking settings of a site',
    description:
      'Returns what the browser script collects automatically on the site of a client. Any origin may read it. Cacheable for 60 seconds.',
    access: 'public',
    parameters: z.object({
      clientId: z.string().describe("The client's id, a UUID. The example is made up and returns 404."),
    }),
    headers: [],
    body: undefined,
    answers: [
      answer(200, 'The tracking settings.', trackingShown),
      answer(400, '`clientId` is not a UUID.', trackingError),
      answer(404, 'The client does not exist, or is not bound to a site.', trackingError),
    ],
    errors: [500],
  },
  script('/script.js', 'Get the browser script'),
  script('/op1.js', 'Get the browser script (compatible path)'),
];

function script(pattern: string, summary: string): DescribedOperation {
  return {
    method: 'get',
    pattern,
    tag: 'Track',
    summary,
    description:
      'Include it in a page with `<script async src="/script.js" data-client-id="…"></script>`. The script sets no cookies. Cacheable for one hour; compressed on request.',
    access: 'public',
    parameters: NOTHING,
    headers: [IF_NONE_MATCH],
    body: undefined,
    answers: [
      {
        status: 200,
        description: 'The script.',
        contentType: 'text/javascript',
        schema: undefined,
        headers: ['service-version', 'ETag'],
      },
      UNCHANGED,
    ],
    errors: [500],
  };
}

function answer(status: number, description: string, schema: z.ZodType): DescribedAnswer {
  return {
    status,
    description,
    contentType: 'application/json',
    schema,
    headers: ['service-version'],
  };
}
