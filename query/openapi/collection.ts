import { z } from 'zod';
import { batchSchema, bodySchema } from '../../ingest/track-schema.ts';
import { projectShown } from '../manage/project-api.ts';
import { TRACK_EXAMPLES } from './examples/track.ts';
import { withMeanings } from './field-meanings.ts';
import { jsonSchemaOf } from './json-schema.ts';
import {
  type ErrorStatus,
  IF_NONE_MATCH,
  type Operation,
  type OperationAnswer,
  type RequestHeader,
  UNCHANGED,
} from './operation.ts';
import { trackBatch, trackBody } from './track-body.ts';

/** The endpoints of the room that collects, which are described here since they have no list of their own. */

const identity = {
  deviceId: z
    .string()
    .describe('The device: 32 hexadecimal digits, or as `__deviceId` named it; empty where there is none.'),
  sessionId: z.string().describe('The session that the event is stored under; empty where there is none.'),
};

/** `POST /track`, 200 */
export const trackedAnswer = z.object(identity);
/** `POST /track`, 202 */
export const excludedAnswer = z.union([
  z.object({ bot: z.object({ name: z.string(), type: z.string() }) }).describe('A bot sent it.'),
  z.object({ filtered: z.literal(true) }).describe('The site does not want it recorded.'),
]);
/** `POST /track/batch`, 200 */
export const batchAnswer = z.object({
  accepted: z.number().describe('Bodies that are stored.'),
  rejected: z
    .array(
      z.object({
        index: z.number().describe('The place of the body in the batch, from 0.'),
        status: z
          .number()
          .describe('What it would have been answered by itself; 202 for bots and what is filtered.'),
        message: z.string(),
      }),
    )
    .describe('The others.'),
});
/** `GET /track/device-id`, 200 */
export const deviceAnswer = z.object({
  ...identity,
  sessionId: z.string().describe('The session that the next event joins.'),
  message: z.enum(['current session', 'previous-day session', 'new session']),
});
/** `GET /config/tracking`, 200 */
export const trackingAnswer = projectShown.pick({
  screenViews: true,
  outgoingLinks: true,
  attributes: true,
  hashChanges: true,
  sessionReplay: true,
  replaySampleRate: true,
  replayNeedsConsent: true,
  paymentProviders: true,
});
const trackingError = z.object({ error: z.string() });

const VISITOR_ADDRESS: RequestHeader = {
  name: 'service-client-ip',
  description:
    "The visitor's address, where a server sends for somebody: believed with a secret, or through a trusted proxy. Never stored.",
};
const USER_AGENT: RequestHeader = {
  name: 'User-Agent',
  description: "The visitor's: browser, system and device are read from it.",
};
const ORIGIN: RequestHeader = {
  name: 'Origin',
  description: 'Sent by browsers: without a secret it has to be one that the site lists.',
};
const IDEMPOTENCY_KEY: RequestHeader = {
  name: 'Idempotency-Key',
  description: '1 to 64 characters: the same as `eventId`, for a body that has none.',
};
const SDK: readonly RequestHeader[] = ['name', 'version'].map((what) => ({
  name: `service-sdk-${what}`,
  description: `The ${what} of the library that sends.`,
}));

const SENDING: readonly ErrorStatus[] = [400, 401, 403, 404, 413, 415, 429, 500, 503];
const NOTHING = z.object({});

/** What the collecting room answers; further prefixes of the same paths are an installation's own. */
export const COLLECTION: readonly Operation[] = [
  {
    method: 'post',
    pattern: '/track',
    tag: 'Track',
    summary: 'Record an event, or what is known of a person or group',
    description: [
      'Answered 200 once it is on disk. Asked for in that order: size, JSON, fields (400), client (401), bots and what the site filters (202).',
      'A page of an origin that the site lists needs no secret; the client is then named by the header, or by `clientId` in the body. What a caller with a secret sends is never taken for a bot, and may be of any age.',
      'A 503 means that it is not known to be on disk; who repeats it gives an `eventId`, so that it counts once. At most 64 KiB.',
    ].join('\n\n'),
    access: 'sender',
    parameters: NOTHING,
    headers: [VISITOR_ADDRESS, USER_AGENT, ORIGIN, IDEMPOTENCY_KEY, ...SDK],
    body: { schema: bodySchema, shown: trackBody(), examples: TRACK_EXAMPLES.bodies },
    answers: [
      answer(200, 'It is on disk, and counts.', trackedAnswer, TRACK_EXAMPLES.tracked),
      answer(
        202,
        'It was understood, is counted as such, and not recorded.',
        excludedAnswer,
        TRACK_EXAMPLES.excluded,
      ),
    ],
    errors: SENDING,
    path: {},
    query: {},
  },
  {
    method: 'post',
    pattern: '/track/batch',
    tag: 'Track',
    summary: 'Record many at once',
    description: [
      'At most 2,000 bodies and 4 MiB, each body as `POST /track` takes it, with its own `__timestamp` and `eventId`. One that is wrong does not fail the others.',
      'A client named by the headers that may not send fails the whole; so does a service that can take nothing of it (503). An `Idempotency-Key` is not looked at.',
    ].join('\n\n'),
    access: 'sender',
    parameters: NOTHING,
    headers: [VISITOR_ADDRESS, USER_AGENT, ORIGIN, ...SDK],
    body: { schema: batchSchema, shown: trackBatch(), examples: { batch: TRACK_EXAMPLES.batch } },
    answers: [answer(200, 'Each was taken or refused.', batchAnswer, TRACK_EXAMPLES.batched)],
    errors: SENDING,
    path: {},
    query: {},
  },
  {
    method: 'get',
    pattern: '/track/device-id',
    tag: 'Track',
    summary: 'Which device and session the visitor has',
    description:
      'The session that is open, or the id of the one that the next event really opens. A page of the same host may be known by its `Referer`.',
    access: 'sender',
    parameters: z.object({
      projectId: z.string().optional().describe('The site, which a root client has to name.'),
    }),
    headers: [VISITOR_ADDRESS, USER_AGENT, ORIGIN],
    body: undefined,
    answers: [answer(200, 'Who the visitor is.', deviceAnswer, TRACK_EXAMPLES.device)],
    errors: [400, 401, 403, 404, 429, 500, 503],
    path: {},
    query: {},
  },
  {
    method: 'get',
    pattern: '/config/tracking',
    tag: 'Track',
    summary: 'What the browser script collects by itself',
    description: 'The settings of the site of a client. For everybody, from every page; kept for a minute.',
    access: 'public',
    parameters: z.object({ clientId: z.string().describe("A client's id, a UUID.") }),
    headers: [],
    body: undefined,
    answers: [
      {
        ...answer(200, 'The settings.', trackingAnswer, TRACK_EXAMPLES.tracking),
        shown: withMeanings(jsonSchemaOf(trackingAnswer, 'output')),
      },
      answer(400, '`clientId` is no UUID.', trackingError, { error: 'clientId: expected a UUID' }),
      answer(404, 'There is no such client, or it has no site.', trackingError, {
        error: 'clientId: there is no such client',
      }),
    ],
    errors: [500],
    path: {},
    query: { clientId: TRACK_EXAMPLES.clientId },
  },
  script('/script.js', 'The browser script'),
  script('/op1.js', 'The browser script, where published snippets look for it'),
];

function script(pattern: string, summary: string): Operation {
  return {
    method: 'get',
    pattern,
    tag: 'Track',
    summary,
    description:
      'For a page: `<script async src="/script.js" data-client-id="…"></script>`. It sets no cookies. Kept for an hour, and compressed for who takes that.',
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
        example: undefined,
      },
      UNCHANGED,
    ],
    errors: [500],
    path: {},
    query: {},
  };
}

function answer(status: number, description: string, schema: z.ZodType, example: unknown): OperationAnswer {
  return {
    status,
    description,
    contentType: 'application/json',
    schema,
    headers: ['service-version'],
    example,
  };
}
