import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { ConfigError } from '../infra/config.ts';
import { readAddressRange } from '../infra/network/address-range.ts';
import { isPublicAddress } from '../infra/network/public-address.ts';
import { BUCKET_FAILURES, ObjectStore } from '../infra/object-store/object-store.ts';
import { unseal } from '../infra/sealed.ts';

/**
 * CONTRACT between whoever sets up that a site's events go to a bucket of somebody's object storage, and the processor,
 * which brings them there.
 *
 * What is wanted is an `Integration`, a record of the control bucket, `integration.<uuid>`, which the query room writes
 * and the processor only reads. How far that is, is a `Delivery`, a record of the bucket `deliveries` under the same key,
 * which only the processor writes, by compare-and-set.
 */
export const INTEGRATION_PREFIX = 'integration.';
export const DELIVERIES_BUCKET = 'deliveries';

const instant = z.iso.datetime();
const day = z.iso.date();
const count = z.number().int().min(0);

export const INTEGRATION_FORMATS = ['parquet', 'ndjson_gzip'] as const;
export type IntegrationFormat = (typeof INTEGRATION_FORMATS)[number];

/** Days in UTC, both included, whose events of before the integration are to be brought, too. */
const backfillSchema = z.object({ id: z.uuid(), from: day, to: day, requestedAt: instant });
export type Backfill = Readonly<z.output<typeof backfillSchema>>;

export const integrationSchema = z.object({
  id: z.uuid(),
  teamId: z.string().min(1),
  projectId: z.string().min(1),
  /** See `Site` in infra/accounts/accounts.ts. */
  storedId: z.string().min(1),
  name: z.string(),
  type: z.literal('s3'),
  bucket: z.string().min(1),
  /** Stands before every key; without a slash at either end, and empty for none. */
  prefix: z.string(),
  region: z.string().min(1),
  /** Null: Amazon's own of the region. */
  endpoint: z.string().nullable(),
  /** Whether the bucket's name is part of the path, not of the host. */
  pathStyle: z.boolean(),
  accessKeyId: z.string().min(1),
  /** The secret access key, sealed for the record's key; see infra/sealed.ts. */
  sealed: z.string(),
  format: z.enum(INTEGRATION_FORMATS),
  paused: z.boolean(),
  backfills: z.array(backfillSchema),
  createdAt: instant,
  updatedAt: instant,
});
export type Integration = Readonly<z.output<typeof integrationSchema>>;

/** Where an integration and its delivery lie in their buckets. */
export function integrationKeyOf(id: string): string {
  return `${INTEGRATION_PREFIX}${id}`;
}

/**
 * Why nothing is brought now: see `BUCKET_FAILURES` (`address-refused` by `ENDPOINTS_ALLOWED`). `unreadable`: the secret
 * was sealed with another `SECRETS_KEY`; `store-away`: there is nothing to read from.
 */
export const DELIVERY_FAILURES = [...BUCKET_FAILURES, 'unreadable', 'store-away'] as const;
export type DeliveryFailure = (typeof DELIVERY_FAILURES)[number];

/** Of each partition a flush: rows up to there, and not beyond. */
const flushes = z.array(count);

/** Hours since 1970-01-01T00:00:00Z. */
const hour = count;

/** A file that is in the bucket: `part` counts the files of an hour, `from` and `to` are the times of its events. */
const deliveredFileSchema = z.object({
  hour,
  part: count,
  rows: count,
  bytes: count,
  /** Of its bytes, in hexadecimal. */
  sha256: z.string(),
  from: instant,
  to: instant,
});
export type DeliveredFile = Readonly<z.output<typeof deliveredFileSchema>>;

/**
 * `hours`: those that had rows when the step was begun; none can join them. `files`: null until all of them are in the
 * bucket. From then on they are the step's files, whoever goes on with it.
 */
const work = { sequence: count, hours: z.array(hour), files: z.array(deliveredFileSchema).nullable() };

/** A step that was begun and is not known to be done. Whoever takes it up brings the same rows. */
const stepSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('new'),
    ...work,
    /** Rows of flushes behind `Delivery.flushed`, up to these. */
    flushed: flushes,
    /** When everything in the store was in those flushes. */
    until: instant,
    /** The first hour of the rows of those flushes that are left to a further step; null when none are. */
    restFrom: hour.nullable(),
  }),
  /** Rows of that day in UTC, of flushes up to `Delivery.first`. */
  z.object({ kind: z.literal('backfill'), ...work, backfillId: z.uuid(), day }),
]);
export type DeliveryStep = Readonly<z.output<typeof stepSchema>>;

export const deliverySchema = z.object({
  version: z.literal(1),
  integrationId: z.uuid(),
  /** Where it began: rows up to there come by backfills alone, all later ones by themselves. */
  first: flushes,
  /** Rows up to there are in committed files, or came before `first`. */
  flushed: flushes,
  /** Manifests that were committed; the last one's number. */
  sequence: count,
  step: stepSchema.nullable(),
  /** While rows behind `flushed` are brought by several steps: up to which flushes, and the first hour still to come. */
  partial: z.object({ flushed: flushes, until: instant, fromHour: hour }).optional(),
  /** Everything that was in the store then is in committed files; null before the first time. */
  deliveredUntil: instant.nullable(),
  committedAt: instant.nullable(),
  files: count,
  rows: count,
  bytes: count,
  /** Days in UTC of which a backfill brought what lies before `first`; none is brought twice. Without empty days. */
  backfilledDays: z.array(day),
  /** What became of each backfill that was begun: days are gone through one after the other, from its first. */
  backfills: z.array(
    z.object({
      id: z.uuid(),
      daysDone: count,
      daysTotal: count,
      rows: count,
      finishedAt: instant.nullable(),
    }),
  ),
  failure: z
    .object({
      reason: z.enum(DELIVERY_FAILURES),
      /** For people; names no secret. */
      message: z.string(),
      since: instant,
      attempts: count,
      nextTryAt: instant,
    })
    .nullable(),
});
export type Delivery = Readonly<z.output<typeof deliverySchema>>;

/** The record of an integration that begins where the lanes' checkpoints are now. */
export function firstDelivery(integrationId: string, flushed: readonly number[]): Delivery {
  return {
    version: 1,
    integrationId,
    first: [...flushed],
    flushed: [...flushed],
    sequence: 0,
    step: null,
    deliveredUntil: null,
    committedAt: null,
    files: 0,
    rows: 0,
    bytes: 0,
    backfilledDays: [],
    backfills: [],
    failure: null,
  };
}

/**
 * CONTRACT with whoever speaks to the bucket of an integration: the processor, which brings files there, and the query
 * room, which tries it out.
 */

/** Whether a connection to an address may be opened on behalf of a customer. */
export type EndpointsAllowed = (address: string) => boolean;

const ANY = 'any';
const NONE = 'none';

/**
 * What the setting `ENDPOINTS_ALLOWED` allows: public addresses, and the listed ones besides; with `none` the listed ones
 * alone.
 * @throws {ConfigError} for what is neither an address, nor a range, nor `any` or `none`
 */
export function readEndpointsAllowed(setting: string): EndpointsAllowed {
  const entries = setting
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  if (entries.includes(ANY)) return () => true;
  const listed = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const entry of entries.filter((one) => one !== NONE)) {
    const range = readAddressRange(entry);
    if (range === undefined) {
      throw new ConfigError(
        `ENDPOINTS_ALLOWED: expected an address, a CIDR range, \`${ANY}\` or \`${NONE}\`: ${entry}`,
      );
    }
    listed[range.family].addSubnet(range.network, range.prefix, range.family);
  }
  const isPublicAllowed = !entries.includes(NONE);
  return (address) => (isPublicAllowed && isPublicAddress(address)) || isListed(listed, address);
}

export interface BucketOptions {
  /** The setting `SECRETS_KEY`. */
  readonly secretsKey: string;
  readonly endpointsAllowed: EndpointsAllowed;
  /** Longest time of one request. */
  readonly timeoutMs: number;
}

/** The bucket of an integration, to be closed by the caller; undefined when its secret cannot be opened. */
export function bucketOf(integration: Integration, options: BucketOptions): ObjectStore | undefined {
  const secretAccessKey = unseal(options.secretsKey, integrationKeyOf(integration.id), integration.sealed);
  if (secretAccessKey === undefined) return undefined;
  const { endpoint, region, bucket, pathStyle, accessKeyId } = integration;
  return new ObjectStore({
    access: { endpoint, region, bucket, pathStyle, accessKeyId, secretAccessKey },
    mayConnect: options.endpointsAllowed,
    timeoutMs: options.timeoutMs,
  });
}

function isListed(listed: Readonly<Record<'ipv4' | 'ipv6', BlockList>>, address: string): boolean {
  const family = isIP(address);
  // An address with a zone is of one machine's link: no list of the service's means it.
  if (family === 0 || address.includes('%')) return false;
  return family === 4 ? listed.ipv4.check(address, 'ipv4') : listed.ipv6.check(address, 'ipv6');
}
