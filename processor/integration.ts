import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { storedIdSchema } from '../infra/accounts/ids.ts';
import { ConfigError } from '../infra/config.ts';
import { readAddressRange } from '../infra/network/address-range.ts';
import { isPublicAddress } from '../infra/network/public-address.ts';
import { BUCKET_FAILURES, ObjectStore } from '../infra/object-store/object-store.ts';
import { unseal } from '../infra/sealed.ts';

/**
 * CONTRACT between the query room, where a customer sets up the delivery of a site's events to a bucket of object storage, and the
 * processor, which delivers them.
 *
 * The desired state is an `Integration`: a record of the control bucket, `integration.<uuid>`, written by the query room and only read by
 * the processor. The actual state is a `Delivery`: a record of the bucket `deliveries` under the same key, written only by the processor,
 * by compare-and-set.
 */
export const INTEGRATION_PREFIX = 'integration.';
export const DELIVERIES_BUCKET = 'deliveries';

const instant = z.iso.datetime();
const day = z.iso.date();
const count = z.number().int().min(0);

export const INTEGRATION_FORMATS = ['parquet', 'ndjson_gzip'] as const;
export type IntegrationFormat = (typeof INTEGRATION_FORMATS)[number];

/** Days in UTC, both included, whose events from before the integration are to be delivered, too. */
const backfillSchema = z.object({ id: z.uuid(), from: day, to: day, requestedAt: instant });
export type Backfill = Readonly<z.output<typeof backfillSchema>>;

export const integrationSchema = z.object({
  id: z.uuid(),
  teamId: z.string().min(1),
  projectId: z.string().min(1),
  /** See `Site` in infra/accounts/accounts.ts. */
  storedId: storedIdSchema.min(1),
  name: z.string(),
  type: z.literal('s3'),
  bucket: z.string().min(1),
  /** Precedes every key; without a slash at either end, and empty for none. */
  prefix: z.string(),
  region: z.string().min(1),
  /** Null: Amazon's own endpoint of the region. */
  endpoint: z.string().nullable(),
  /** True if the bucket's name is part of the path instead of the host. */
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

/** The key of an integration and of its delivery in their buckets. */
export function integrationKeyOf(id: string): string {
  return `${INTEGRATION_PREFIX}${id}`;
}

/**
 * Reasons why nothing can be delivered now: see `BUCKET_FAILURES` (`address-refused` comes from `ENDPOINTS_ALLOWED`). `unreadable`: the
 * secret was sealed with another `SECRETS_KEY`; `store-away`: the event store does not answer.
 */
export const DELIVERY_FAILURES = [...BUCKET_FAILURES, 'unreadable', 'store-away'] as const;
export type DeliveryFailure = (typeof DELIVERY_FAILURES)[number];

/** A flush number of each lane: rows of flushes up to and including it. */
const flushes = z.array(count);

/** Hours since 1970-01-01T00:00:00Z. */
const hour = count;

/**
 * A file in the bucket. `part` counts the files of an hour; `from` and `to` are the times of its first and last event.
 */
const deliveredFileSchema = z.object({
  hour,
  part: count,
  rows: count,
  bytes: count,
  /** The digest of its bytes, in hexadecimal. */
  sha256: z.string(),
  from: instant,
  to: instant,
});
export type DeliveredFile = Readonly<z.output<typeof deliveredFileSchema>>;

/**
 * `hours`: those that had rows when the step began; none can join them. `files`: null until all of them are in the
 * bucket. From then on they are the files of the step, whichever process continues it.
 */
const work = { sequence: count, hours: z.array(hour), files: z.array(deliveredFileSchema).nullable() };

/** A step that has begun and is not known to be done. A process that continues it delivers the same rows. */
const stepSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('new'),
    ...work,
    /** Rows of flushes after `Delivery.flushed`, up to these. */
    flushed: flushes,
    /** The time at which everything in the store was in those flushes. */
    until: instant,
    /** The first hour of those flushes that is left for a further step; null when none is. */
    restFrom: hour.nullable(),
  }),
  /** Rows of that day in UTC, of flushes up to `Delivery.first`. */
  z.object({ kind: z.literal('backfill'), ...work, backfillId: z.uuid(), day }),
]);
export type DeliveryStep = Readonly<z.output<typeof stepSchema>>;

export const deliverySchema = z.object({
  version: z.literal(1),
  integrationId: z.uuid(),
  /** Start of the delivery: rows up to there come by backfills only, all later ones by themselves. */
  first: flushes,
  /** Rows up to there are in committed files, or came before `first`. */
  flushed: flushes,
  /** The number of the last committed manifest, which is also their count. */
  sequence: count,
  step: stepSchema.nullable(),
  /** While rows after `flushed` need several steps: up to which flushes, and the first hour that is left. */
  partial: z.object({ flushed: flushes, until: instant, fromHour: hour }).optional(),
  /** Everything that was in the store at that time is in committed files; null before the first time. */
  deliveredUntil: instant.nullable(),
  committedAt: instant.nullable(),
  files: count,
  rows: count,
  bytes: count,
  /**
   * Days in UTC whose rows from before `first` a backfill has delivered, so that none is delivered twice. Without empty
   * days.
   */
  backfilledDays: z.array(day),
  /** The state of each backfill that has begun. Days are delivered in order, from the first one. */
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
      /** Readable text; contains no secret. */
      message: z.string(),
      since: instant,
      attempts: count,
      nextTryAt: instant,
    })
    .nullable(),
});
export type Delivery = Readonly<z.output<typeof deliverySchema>>;

/** The record of an integration that begins at the present checkpoints of the lanes. */
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
 * CONTRACT for connections to the bucket of an integration: the processor delivers files to it, and the query room
 * tests it.
 */

/** Returns true if a connection to an address may be opened on behalf of a customer. */
export type EndpointsAllowed = (address: string) => boolean;

const ANY = 'any';
const NONE = 'none';

/**
 * Reads the setting `ENDPOINTS_ALLOWED`, which allows public addresses and the listed ones; with `none` only the listed ones.
 * @throws {ConfigError} for an entry that is neither an address nor a range, nor `any` or `none`
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
  /** Maximum time of one request. */
  readonly timeoutMs: number;
}

/** The bucket of an integration, which the caller closes; undefined when its secret cannot be decrypted. */
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
  // An address with a zone belongs to one machine's link: no entry of the setting can mean it.
  if (family === 0 || address.includes('%')) return false;
  return family === 4 ? listed.ipv4.check(address, 'ipv4') : listed.ipv6.check(address, 'ipv6');
}
