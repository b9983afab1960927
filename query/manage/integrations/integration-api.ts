import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { DAY_MS } from '../../../infra/durations.ts';
import { BUCKET_FAILURES } from '../../../infra/object-store/object-store.ts';
import { DELIVERY_FAILURES, INTEGRATION_FORMATS } from '../../../processor/integration.ts';
import {
  describedLike,
  instant,
  nameField,
  projectIdField,
  recordTimes,
  teamIdShown,
} from '../../definitions/record-fields.ts';

/** CONTRACT of the manage API: every body and response of `/manage/integrations`. */

/** An S3 key has at most 1,024 bytes, and the part after the prefix needs up to half. */
const PREFIX_MAX_BYTES = 512;
const ENDPOINT_MAX = 300;
const ACCESS_KEY_ID_MAX = 128;
const SECRET_MAX = 1_024;
const FIRST_DAY = '2000-01-01';
const BACKFILL_DAYS_MAX = 3_660;

const count = z.number().int().min(0);

const BUCKET_NAME =
  'expected a bucket name such as shop-events: 3 to 63 lower-case letters, digits, hyphens and dots';
/** The naming rules of S3. Names that S3 reserves are allowed, because the alias of an access point is one. */
const bucket = z
  .string()
  .min(3, BUCKET_NAME)
  .max(63, BUCKET_NAME)
  .regex(/^[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)*$/, BUCKET_NAME)
  .refine((name) => !isIPv4(name), BUCKET_NAME)
  .describe('The name of the bucket.');

const prefix = z
  .string()
  .max(PREFIX_MAX_BYTES, `expected at most ${PREFIX_MAX_BYTES} bytes`)
  .refine((text) => Buffer.byteLength(text) <= PREFIX_MAX_BYTES, `expected at most ${PREFIX_MAX_BYTES} bytes`)
  .refine(
    isPrefix,
    'expected folders such as raw/events, without leading, trailing or double slashes, . or .., or control characters',
  )
  .describe('Folders that every object key starts with, without a slash at either end. Empty: none.');

const region = z
  .string()
  .regex(/^[a-z\d-]{1,32}$/, 'expected a region such as eu-central-1')
  .describe('The region of the bucket. Any value works for storage without regions.');

const endpoint = z
  .string()
  .max(ENDPOINT_MAX, `expected at most ${ENDPOINT_MAX} characters`)
  .refine(isEndpoint, 'expected a URL such as https://storage.example:9000, without path or password')
  .transform((given) => new URL(given).origin)
  .nullable()
  .describe('The URL of the storage: scheme, host and optional port. Null: the AWS endpoint of the region.');

const pathStyle = z
  .boolean()
  .describe(
    'Whether the bucket name is in the path instead of the host name. Default: true with an endpoint or a dot in the name.',
  );
const format = z.enum(INTEGRATION_FORMATS).describe('The file format: Parquet, or gzipped NDJSON.');
const paused = z.boolean().describe('Whether delivery is paused.');
const type = z.literal('s3', 'expected s3').describe('A bucket of S3-compatible object storage.');

/** Part of a header, between slashes. */
const accessKeyId = z
  .string()
  .max(ACCESS_KEY_ID_MAX, `expected at most ${ACCESS_KEY_ID_MAX} characters`)
  .regex(/^[!-.0-~]+$/, 'expected an access key id: ASCII without spaces and slashes')
  .describe('The id of the access key.');

const secretAccessKey = z
  .string()
  .min(1, 'expected a non-empty string')
  .max(SECRET_MAX, `expected at most ${SECRET_MAX} characters`)
  .refine((given) => !hasControls(given), 'contains a control character, such as a line break')
  .describe('The secret of the access key. Stored encrypted, never returned.');

/** `POST /manage/integrations` */
export const integrationCreation = z.strictObject({
  projectId: projectIdField,
  name: nameField.optional().describe('A name for the integration. Default: the bucket name.'),
  type,
  bucket,
  prefix: prefix.default(''),
  region: region.default('us-east-1'),
  endpoint: endpoint.default(null),
  pathStyle: pathStyle.optional(),
  accessKeyId,
  secretAccessKey,
  format: format.default('parquet'),
});

/** With another value of these, committed files would be where no reader looks for them. */
const FIXED_FIELDS = ['projectId', 'type', 'bucket', 'prefix', 'endpoint', 'format'] as const;

/** `PATCH /manage/integrations/{integrationId}` */
export const integrationChange = z.preprocess(
  rejectFixedFields,
  z
    .strictObject({
      name: nameField,
      region,
      pathStyle,
      accessKeyId,
      secretAccessKey,
      paused,
    })
    .partial()
    .superRefine((given, context) => {
      if ((given.accessKeyId === undefined) === (given.secretAccessKey === undefined)) return;
      const path = [given.accessKeyId === undefined ? 'accessKeyId' : 'secretAccessKey'];
      context.addIssue({
        code: 'custom',
        path,
        message: 'missing; send accessKeyId and secretAccessKey together',
      });
    }),
);

const day = z.iso
  .date('expected a day such as 2026-03-01')
  .refine((given) => given >= FIRST_DAY, `expected a day from ${FIRST_DAY} on`);

/** `POST /manage/integrations/{integrationId}/backfill` */
export const backfillRequest = z
  .strictObject({
    from: day.describe('The first day, in UTC.'),
    to: day.describe('The last day, in UTC, included. Today at the latest.'),
  })
  .superRefine(({ from, to }, context) => {
    const wrong = (message: string) => context.addIssue({ code: 'custom', path: ['to'], message });
    if (to < from) wrong('is before from');
    else if (daysOf({ from, to }) > BACKFILL_DAYS_MAX) wrong(`expected at most ${BACKFILL_DAYS_MAX} days`);
  });

const BACKFILL_STATES = ['waiting', 'running', 'done'] as const;

const backfillShown = z.object({
  id: z.uuid(),
  from: z.iso.date().describe('The first day, in UTC.'),
  to: z.iso.date().describe('The last day, in UTC, included.'),
  requestedAt: instant.describe('Time of the request, in UTC.'),
  state: z.enum(BACKFILL_STATES).describe('The progress of the backfill.'),
  daysDone: count.describe('Number of days delivered, including days delivered before.'),
  daysTotal: count.describe('Number of days in the backfill.'),
  rows: count.describe('Number of events delivered.'),
  finishedAt: instant.nullable().describe('Time of completion, in UTC. Null before.'),
});
export type BackfillShown = z.output<typeof backfillShown>;

const INTEGRATION_STATES = ['starting', 'running', 'paused', 'failing'] as const;

const failureMessage = z.string().describe('The failure in plain English. Contains no secret.');
const statusShown = z.object({
  state: z
    .enum(INTEGRATION_STATES)
    .describe(
      '`starting`: nothing delivered yet. `running`: delivering. `paused`: paused. `failing`: the last attempt failed, see `failure`; it is retried.',
    ),
  failure: z
    .object({
      reason: z
        .enum(DELIVERY_FAILURES)
        .describe(
          'The reason. `unreadable`: the access key was encrypted with a key that is lost; set it again. `address-refused`: the service may not connect to this address; its operator can allow it in the setting `ENDPOINTS_ALLOWED`. `store-away`: the event store is unreachable.',
        ),
      message: failureMessage,
      since: instant.describe('Time of the first of the consecutive failures, in UTC.'),
      attempts: count.describe('Number of attempts since then.'),
      nextTryAt: instant.describe('Time of the next attempt, in UTC.'),
    })
    .nullable()
    .describe('Why the last attempt failed. Null after a success.'),
  lagSeconds: count
    .nullable()
    .describe(
      'Seconds since `deliveredUntil`. Null before the first delivery. A healthy integration stays within minutes.',
    ),
  deliveredUntil: instant
    .nullable()
    .describe('Every event stored by this time is in committed files. Null before the first delivery.'),
  committedAt: instant
    .nullable()
    .describe('Time of the last committed manifest, in UTC. Null before the first.'),
  sequence: count.describe('The number of the last manifest, which equals the number of manifests.'),
  files: count.describe('Number of files in all manifests.'),
  rows: count.describe('Number of events in committed files.'),
  bytes: count.describe('Total size of these files, in bytes.'),
  backfills: z
    .array(backfillShown)
    .describe(
      'Requested backfills in the order of delivery. The oldest completed ones are removed beyond 50.',
    ),
});
export type IntegrationStatus = z.output<typeof statusShown>;

/** An integration as it is returned. */
export const integrationShown = z.object({
  id: z.uuid(),
  teamId: teamIdShown,
  projectId: z.string().describe('The site whose events are delivered.'),
  name: z.string(),
  type,
  bucket: describedLike(z.string(), bucket),
  prefix: describedLike(z.string(), prefix),
  region: describedLike(z.string(), region),
  endpoint: describedLike(z.string().nullable(), endpoint),
  pathStyle,
  accessKeyId: describedLike(z.string(), accessKeyId),
  format,
  paused,
  ...recordTimes,
  status: statusShown.describe('The progress of delivery.'),
});
export type IntegrationShown = z.output<typeof integrationShown>;
export const integrationAnswer = z.object({ data: integrationShown });
export const integrationsAnswer = z.object({ data: z.array(integrationShown) });

const TRIAL_STEPS = ['write', 'read', 'remove'] as const;
const TRIAL_FAILURES = [...BUCKET_FAILURES, 'unreadable'] as const;

/** `POST /manage/integrations/{integrationId}/test` */
const trialShown = z.object({
  ok: z.boolean().describe('Whether all steps succeeded.'),
  failure: z
    .enum(TRIAL_FAILURES)
    .nullable()
    .describe(
      'Why the first failed step failed. `unreadable`: the access key cannot be decrypted; set it again. Null on success.',
    ),
  message: failureMessage,
  steps: z
    .array(
      z.object({
        name: z.enum(TRIAL_STEPS).describe('The step.'),
        ok: z.boolean().describe('Whether the step succeeded.'),
        ms: count.describe('Duration in milliseconds.'),
      }),
    )
    .describe('The steps taken, in order.'),
});
export type TrialShown = z.output<typeof trialShown>;
export const trialAnswer = z.object({ data: trialShown });

/** The number of days from the first to the last, both included. */
export function daysOf({ from, to }: { readonly from: string; readonly to: string }): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
}

function rejectFixedFields(given: unknown, context: z.RefinementCtx): unknown {
  if (typeof given !== 'object' || given === null) return given;
  for (const name of FIXED_FIELDS) {
    if (!Object.hasOwn(given, name)) continue;
    const message = 'cannot be changed; create another integration';
    context.addIssue({ code: 'custom', path: [name], message });
  }
  return given;
}

function isPrefix(text: string): boolean {
  if (text === '') return true;
  return !hasControls(text) && text.split('/').every((folder) => !['', '.', '..'].includes(folder));
}

function isEndpoint(given: string): boolean {
  return /^https?:\/\/[^\s/?#@\\]+\/?$/i.test(given) && URL.canParse(given);
}

function hasControls(text: string): boolean {
  return /[\p{Cc}\p{Cs}]/u.test(text);
}
