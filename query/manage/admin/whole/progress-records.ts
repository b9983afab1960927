import type { Bus } from '../../../../infra/bus/bus.ts';
import { encodeJson } from '../../../../infra/bus/mirror.ts';
import { DELIVERIES_BUCKET } from '../../../../processor/integration.ts';
import { SYNCS_BUCKET } from '../../../../processor/search-console.ts';
import type { ProgressRecord } from './manifest.ts';

const PROGRESS_BUCKETS = [DELIVERIES_BUCKET, SYNCS_BUCKET] as const;

/**
 * Reads the processor's progress outside of the store. Call it before the instant of a backup, so the progress covers no rows
 * that the backup lacks.
 */
export async function readProgress(bus: Bus): Promise<ProgressRecord[]> {
  const records: ProgressRecord[] = [];
  for (const name of PROGRESS_BUCKETS) {
    const bucket = await bus.keyed(name);
    for (const key of (await bucket.keys()).sort()) {
      const bytes = (await bucket.get(key))?.bytes;
      if (bytes !== undefined)
        records.push({ bucket: name, key, json: JSON.parse(Buffer.from(bytes).toString('utf8')) });
    }
  }
  return records;
}

/** Writes a backup's progress; before the control records, which the processor works on as soon as it knows them. */
export async function restoreProgress(bus: Bus, records: readonly ProgressRecord[]): Promise<void> {
  for (const { bucket: name, key, json } of records) {
    const bucket = await bus.keyed(name);
    await bucket.put(key, encodeJson(json), (await bucket.get(key))?.revision ?? 0);
  }
}
