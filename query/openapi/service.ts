import { z } from 'zod';
import { type DescribedAnswer, type DescribedOperation, IF_NONE_MATCH, UNCHANGED } from './operation.ts';
import { VIEWER_SCRIPT_PATH } from './viewer.ts';

/** The operations that every process has, and the documentation itself. */

const liveness = z.object({ status: z.literal('live') });
const readiness = z.object({
  status: z.enum(['ready', 'not ready']),
  draining: z.boolean().optional().describe('Whether the process is shutting down.'),
  dependencies: z
    .array(
      z.object({
        name: z.string().describe('`bus` (nats-server) or `store` (ClickHouse).'),
        address: z.string().describe('Host and port of the server.'),
        setting: z.string().describe('The setting that says where the server is, such as `NATS_URL`.'),
        neededBy: z.array(z.string()).describe('The services of this process that need the server.'),
        up: z.boolean().describe('Whether the dependency can be reached.'),
        since: z.iso.datetime({ precision: 3 }).describe('Time of the last change of `up`, in UTC.'),
      }),
    )
    .optional()
    .describe('The servers that this process depends on.'),
  mirrorsBehind: z
    .int()
    .optional()
    .describe(
      'Number of copies of settings in memory that lack a stored change, such as after a lost connection to the bus. The process is not ready until it is 0.',
    ),
  backlog: z
    .object({
      messages: z
        .int()
        .describe(
          'Messages, each with one event or many, or with an update of a profile, a group or an order.',
        ),
      usedShare: z
        .number()
        .describe('How full the fullest stream is, from 0 to 1. At 1 the service takes no more events.'),
    })
    .optional()
    .describe('What waits in the bus until it is in the store. Absent while the bus does not say it.'),
  failingLanes: z
    .array(z.int())
    .optional()
    .describe(
      'The lanes whose processors cannot store their events. The process is not ready while there are any.',
    ),
  disk: z
    .object({
      state: z
        .enum(['free', 'low', 'full'])
        .describe('`low`: the process is not ready. `full`: events are rejected, too.'),
      freeBytes: z.int(),
      minBytes: z.int().describe('The setting `DISK_FREE_MIN_BYTES`.'),
      since: z.iso.datetime({ precision: 3 }).describe('Time of the last change of `state`, in UTC.'),
    })
    .optional()
    .describe('The disk of `DATA_DIR`, where bus or store write to it.'),
  warnings: z
    .array(
      z.object({
        setting: z.string().describe('The setting that resolves it, such as `TRUSTED_PROXIES`.'),
        message: z.string().describe('What was noticed, and what to do.'),
        requests: z.int().describe('Number of requests that it concerned.'),
        since: z.iso.datetime({ precision: 3 }).describe('Time of the first such request, in UTC.'),
        last: z.iso.datetime({ precision: 3 }).describe('Time of the last such request, in UTC.'),
      }),
    )
    .optional()
    .describe('What the operator should look at. A warning does not make the process unready.'),
});

/** `/healthz/*`, `/metrics`, `/openapi.json`, `/documentation` and its script. */
export const SERVICE: readonly DescribedOperation[] = [
  operation('/', 'Get the dashboard', {
    description:
      'Returns the page of the dashboard, which asks for a sign-in and holds no figures itself. In a process without it, the links of `/help`. Cacheable for 60 seconds, with an `ETag`.',
    answers: [text('text/html'), UNCHANGED],
  }),
  operation('/shared-page', 'Get the dashboard for a frame of another site', {
    description:
      'Returns the page of `/`, which any site may frame. There it shows shared links alone, as in `/shared-page#/shared/{token}`, with a view token in place of a cookie. Cacheable for 60 seconds, with an `ETag`.',
    answers: [text('text/html'), UNCHANGED],
  }),
  {
    ...operation('/dashboard/:file', 'Get a script or style of the dashboard', {
      description:
        'The page at `/` names the files. A name contains a hash of the content, so a copy never becomes outdated: cacheable for a year, with an `ETag`; compressed on request.',
      answers: [text('text/javascript'), UNCHANGED],
    }),
    errors: [404, 500],
  },
  operation('/help', 'Get links to what the process serves', {
    description:
      'Returns a page that links to this documentation, the browser script, health and metrics. Every process has one; in a process without the dashboard it is at `/`. Cacheable for 60 seconds, with an `ETag`.',
    answers: [text('text/html'), UNCHANGED],
  }),
  operation('/healthz/live', 'Liveness probe', {
    description: 'Returns 200 while the process responds to requests.',
    answers: [json(200, 'Live.', liveness)],
  }),
  operation('/healthz/ready', 'Readiness probe', {
    description:
      'Returns the state of each server that the process depends on and the time of its last change, and warnings for the operator. Returns 503 while such a server is unreachable, while the process still reads settings that changed meanwhile, or while it is shutting down. Requests that may not read `/metrics` get the status alone, without details. A processor has this probe on its own port.',
    answers: [json(200, 'Ready.', readiness), json(503, 'Not ready or draining.', readiness)],
  }),
  operation('/metrics', 'Prometheus metrics', {
    description:
      'Returns all metrics in the Prometheus text format. Labels contain no site and no personal data. Send the setting `OPERATIONS_TOKEN` as `Authorization: Bearer …`. Where that setting is empty, only requests of the same machine that no proxy passed on are answered.',
    access: 'operator',
    answers: [text('text/plain')],
  }),
  operation('/openapi.json', 'Get this document', {
    description: 'Returns the API description in OpenAPI 3.1. Cacheable for 60 seconds, with an `ETag`.',
    answers: [json(200, 'The OpenAPI document.', z.looseObject({ openapi: z.string() })), UNCHANGED],
  }),
  operation('/documentation', 'Get the API documentation', {
    description:
      'Returns a page to browse and search this document, with sample code and a form that sends requests. Cacheable for 60 seconds, with an `ETag`.',
    answers: [text('text/html'), UNCHANGED],
  }),
  operation(VIEWER_SCRIPT_PATH, 'Get the script of the documentation page', {
    description: 'Cacheable for one hour, with an `ETag`; compressed on request.',
    answers: [text('text/javascript'), UNCHANGED],
  }),
];

function operation(
  pattern: string,
  summary: string,
  {
    description,
    answers,
    access = 'public',
  }: Pick<DescribedOperation, 'description' | 'answers'> & Partial<Pick<DescribedOperation, 'access'>>,
): DescribedOperation {
  return {
    method: 'get',
    pattern,
    tag: 'Operations',
    summary,
    description,
    access,
    parameters: z.object({}),
    headers: answers.includes(UNCHANGED) ? [IF_NONE_MATCH] : [],
    body: undefined,
    answers,
    errors: access === 'public' ? [500] : [401, 500],
  };
}

function json(status: number, description: string, schema: z.ZodType): DescribedAnswer {
  return { status, description, contentType: 'application/json', schema, headers: [] };
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
