import { z } from 'zod';
import { IF_NONE_MATCH, type Operation, type OperationAnswer, UNCHANGED } from './operation.ts';
import { VIEWER_SCRIPT_PATH } from './viewer.ts';

/** What every process answers about itself, and these descriptions. */

const liveness = z.object({ status: z.literal('live') });
const readiness = z.object({
  status: z.enum(['ready', 'not ready']),
  draining: z.boolean().describe('Whether the process is about to stop.'),
  dependencies: z
    .array(
      z.object({
        name: z.string(),
        up: z.boolean(),
        since: z.iso.datetime({ precision: 3 }).describe('Since when it is up or down, in UTC.'),
      }),
    )
    .describe('What the process cannot work without.'),
});

const SINCE = '2026-01-05T08:00:00.000Z';

/** `/healthz/*`, `/metrics`, `/openapi.json`, `/documentation` and its script. */
export const SERVICE: readonly Operation[] = [
  operation('/healthz/live', 'Whether the process runs', {
    description: 'For who restarts processes that hang.',
    answers: [json(200, 'It runs.', liveness, { status: 'live' })],
  }),
  operation('/healthz/ready', 'Whether the process can do its work', {
    description: 'Says which of the things that it needs is away, and since when.',
    answers: [
      json(200, 'It can.', readiness, {
        status: 'ready',
        draining: false,
        dependencies: [{ name: 'bus', up: true, since: SINCE }],
      }),
      json(503, 'It cannot, or is about to stop.', readiness, {
        status: 'not ready',
        draining: false,
        dependencies: [{ name: 'bus', up: false, since: SINCE }],
      }),
    ],
  }),
  operation('/metrics', 'Counters and times, for Prometheus', {
    description: 'The text format of Prometheus. It names no site and no person.',
    answers: [
      text('text/plain', '# TYPE query_questions_total counter\nquery_questions_total{kind="live"} 3\n'),
    ],
  }),
  operation('/openapi.json', 'This description, for programs', {
    description: 'OpenAPI 3.1. Has an `ETag`.',
    answers: [
      json(200, 'The document.', z.looseObject({ openapi: z.string() }), { openapi: '3.1.0' }),
      UNCHANGED,
    ],
  }),
  operation('/documentation', 'This description, for people', {
    description:
      'A page that searches this description, shows code and sends requests to this service. Has an `ETag`.',
    answers: [text('text/html', '<!doctype html>…'), UNCHANGED],
  }),
  operation(VIEWER_SCRIPT_PATH, 'The script of that page', {
    description: 'Kept for an hour, and compressed for who takes that. Has an `ETag`.',
    answers: [text('text/javascript', '(function(){…})()'), UNCHANGED],
  }),
];

function operation(
  pattern: string,
  summary: string,
  { description, answers }: Pick<Operation, 'description' | 'answers'>,
): Operation {
  return {
    method: 'get',
    pattern,
    tag: 'Operations',
    summary,
    description,
    access: 'public',
    parameters: z.object({}),
    headers: answers.includes(UNCHANGED) ? [IF_NONE_MATCH] : [],
    body: undefined,
    answers,
    errors: [500],
    path: {},
    query: {},
  };
}

function json(status: number, description: string, schema: z.ZodType, example: unknown): OperationAnswer {
  return { status, description, contentType: 'application/json', schema, headers: [], example };
}

function text(contentType: string, example: string): OperationAnswer {
  return { status: 200, description: 'As text.', contentType, schema: undefined, headers: [], example };
}
