import { assert } from '../../infra/assert.ts';
import type { Semaphore } from '../../infra/concurrency/semaphore.ts';
import { BucketError, type ObjectStore } from '../../infra/object-store/object-store.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import type { Store } from '../../infra/store/store.ts';
import type { DeliveredFile, DeliveryStep, Integration } from '../integration.ts';
import type { FlushedRows } from './delivered-rows.ts';
import type { DeliveryMetrics } from './delivery-metrics.ts';
import { cutBehind, type FileRows, incompleteAnswer, makeFile, measure } from './event-file.ts';
import type { DeliveryLimits } from './limits.ts';
import { fileKeyOf, fileStartOf } from './manifest.ts';

const ORPHANS_MAX = 1_000;

export type DeliveryBucket = Pick<ObjectStore, 'put' | 'get' | 'list' | 'remove' | 'close'>;

export interface StepFileDeps {
  readonly store: Store;
  readonly bucket: DeliveryBucket;
  readonly limits: DeliveryLimits;
  /** Limits the number of files in memory. */
  readonly fileSemaphore: Semaphore;
  readonly metrics: DeliveryMetrics;
  readonly crashPoint: (point: CrashPoint) => void;
  /** Throws when the runner has to end. */
  readonly throwIfStopping: () => void;
}

/**
 * Writes the rows of a step to the bucket, hour by hour, and returns the files. A repetition writes the same objects.
 */
export async function writeFiles(
  deps: StepFileDeps,
  integration: Integration,
  { sequence, hours }: DeliveryStep,
  rows: FlushedRows,
): Promise<DeliveredFile[]> {
  const files: DeliveredFile[] = [];
  for (const hour of hours) {
    let rest: FileRows | undefined = { rows, hour, lower: undefined, upper: undefined };
    let rowsMax = deps.limits.fileRows;
    for (let part = 0; rest !== undefined; ) {
      deps.throwIfStopping();
      const begun: FileRows = rest;
      const position = { sequence, part, rowsMax };
      const written = await deps.fileSemaphore.run(() => writeFile(deps, integration, begun, position));
      if (written === 'too-large') {
        assert(rowsMax > 1, 'an event fits a file');
        rowsMax = Math.floor(rowsMax / 2);
      } else {
        if (written.file !== undefined) files.push(written.file);
        part += 1;
        rest = written.upper === undefined ? undefined : { ...begun, lower: written.upper };
      }
    }
  }
  return files;
}

/**
 * Writes the first file of the rest of an hour; `upper` is where the next one begins. Rows may be purged meanwhile, and none can join: if
 * the count after the file was made is the same as before, it holds exactly these rows.
 */
async function writeFile(
  { store, bucket, limits, metrics, crashPoint, throwIfStopping }: StepFileDeps,
  integration: Integration,
  rest: FileRows,
  { sequence, part, rowsMax }: { readonly sequence: number; readonly part: number; readonly rowsMax: number },
): Promise<{ readonly file: DeliveredFile | undefined; readonly upper: FileRows['upper'] } | 'too-large'> {
  const left = await measure(store, rest);
  const upper = left.rows > rowsMax ? await cutBehind(store, rest, rowsMax) : undefined;
  const meant = { ...rest, upper };
  for (let before = upper === undefined ? left : await measure(store, meant); ; ) {
    if (before.rows === 0) return { file: undefined, upper };
    const made = await makeFile(store, meant, integration, limits.fileBytes);
    if (made === undefined) return 'too-large';
    const after = await measure(store, meant);
    if (after.rows === before.rows) {
      if (made.isEmpty) throw incompleteAnswer();
      const { bytes, sha256, contentType } = made;
      const file = {
        hour: rest.hour,
        part,
        rows: after.rows,
        bytes: bytes.length,
        sha256,
        from: new Date(after.fromMs).toISOString(),
        to: new Date(after.toMs).toISOString(),
      };
      await bucket.put(fileKeyOf(integration, sequence, file), bytes, { contentType });
      metrics.files.add();
      metrics.bytes.add(bytes.length);
      crashPoint('delivery:after-file');
      return { file, upper };
    }
    throwIfStopping();
    before = after;
  }
}

/**
 * Removes files that earlier attempts of a step left in the bucket and its manifest does not name. The customer's key
 * may lack the permission to list or remove; readers ignore such files anyway.
 */
export async function removeOrphans(
  bucket: DeliveryBucket,
  integration: Integration,
  step: DeliveryStep,
): Promise<void> {
  const files = step.files ?? [];
  const named = new Set(files.map((file) => fileKeyOf(integration, step.sequence, file)));
  try {
    for (const hour of step.hours) {
      const found = await bucket.list(fileStartOf(integration, step.sequence, hour), ORPHANS_MAX);
      for (const key of found) if (!named.has(key)) await bucket.remove(key);
    }
  } catch (error) {
    if (!(error instanceof BucketError) || error.failure !== 'denied') throw error;
  }
}
