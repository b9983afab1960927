import type { SiteId } from '../../infra/accounts/ids.ts';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { DeliveredFile, Delivery, Integration, IntegrationFormat } from '../integration.ts';

/**
 * CONTRACT with readers of a bucket: the keys of its objects, and the content of a manifest. Under the prefix of the integration:
 *
 *     events/site=<projectId>/date=YYYY-MM-DD/hour=HH/<integrationId>-<sequence>-<part>-<sha256, 16 digits>.parquet
 *     manifests/<integrationId>/<sequence>.json
 *
 * Sequences start at 1 and have no gaps. An object that no manifest names does not count.
 */
export interface Manifest {
  readonly version: 1;
  readonly integrationId: string;
  readonly projectId: SiteId;
  readonly sequence: number;
  readonly kind: 'new' | 'backfill';
  /** Only for new events: the flushes that wrote them, after `from` and up to `to`, by lane. */
  readonly flushed?: { readonly from: readonly number[]; readonly to: readonly number[] };
  /**
   * Only for new events: everything stored at that time is in manifests up to this one; null if further ones are needed
   * for that.
   */
  readonly until?: string | null;
  /** Only for a backfill: the day in UTC. */
  readonly day?: string;
  readonly rows: number;
  readonly files: readonly ManifestFile[];
}

export interface ManifestFile {
  readonly key: string;
  readonly rows: number;
  readonly bytes: number;
  /** The digest of its bytes, in hexadecimal. */
  readonly sha256: string;
  /** In UTC: `YYYY-MM-DDTHH`. */
  readonly hour: string;
  /** The times of its first and of its last event. */
  readonly from: string;
  readonly to: string;
}

const ENDINGS: Readonly<Record<IntegrationFormat, string>> = { parquet: 'parquet', ndjson_gzip: 'ndjson.gz' };
const HASH_DIGITS = 16;

type ManifestIntegration = Pick<Integration, 'id' | 'prefix' | 'projectId' | 'format'>;

/** The key of a file. It holds the hash of the content, so it always has the same content. */
export function fileKeyOf(
  integration: ManifestIntegration,
  sequence: number,
  file: Pick<DeliveredFile, 'hour' | 'part' | 'sha256'>,
): string {
  const part = String(file.part).padStart(3, '0');
  return `${fileStartOf(integration, sequence, file.hour)}${part}-${file.sha256.slice(0, HASH_DIGITS)}.${ENDINGS[integration.format]}`;
}

/** The common beginning of the keys of a step's files in that hour (hours since 1970). */
export function fileStartOf(integration: ManifestIntegration, sequence: number, hour: number): string {
  const [date, hourOfDay] = hourText(hour).split('T');
  const folder = `events/site=${encodeURIComponent(integration.projectId)}/date=${date}/hour=${hourOfDay}`;
  return `${start(integration)}${folder}/${integration.id}-${digits(sequence)}-`;
}

/** The key of a manifest. */
export function manifestKeyOf(integration: ManifestIntegration, sequence: number): string {
  return `${start(integration)}manifests/${integration.id}/${digits(sequence)}.json`;
}

/** The manifest of a step whose files are in the bucket. Every process writes the same bytes, every time. */
export function manifestOf(integration: ManifestIntegration, delivery: Delivery): Manifest {
  const step = must(delivery.step, 'a manifest is of a step');
  const files = must(step.files, 'a manifest is of files');
  const { sequence, kind } = step;
  return {
    version: 1,
    integrationId: integration.id,
    projectId: integration.projectId,
    sequence,
    kind,
    ...(step.kind === 'new'
      ? {
          flushed: { from: delivery.flushed, to: step.flushed },
          until: step.restFrom === null ? step.until : null,
        }
      : { day: step.day }),
    rows: files.reduce((sum, file) => sum + file.rows, 0),
    files: files.map((file) => ({
      key: fileKeyOf(integration, sequence, file),
      rows: file.rows,
      bytes: file.bytes,
      sha256: file.sha256,
      hour: hourText(file.hour),
      from: file.from,
      to: file.to,
    })),
  };
}

/** `YYYY-MM-DDTHH` of hours since 1970. */
export function hourText(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString().slice(0, 13);
}

function start({ prefix }: ManifestIntegration): string {
  return prefix === '' ? '' : `${prefix}/`;
}

function digits(sequence: number): string {
  return String(sequence).padStart(9, '0');
}
