import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { BusError } from './bus-error.ts';
import type { KeyedBytes, KeyedValue } from './keyed-bytes.ts';
import { LeaseWatch } from './lease-watch.ts';

/** The time for which a holder that died holds up the others. */
const LEASE_MS = 6_000;
const TRY_EVERY_MS = 200;
/** The time for which a bus that does not answer is asked again. */
const BUS_AWAY_MAX_MS = 30_000;

/** The options of a lock besides its key. */
export interface LockOptions {
  readonly leaseMs?: number;
  /** Called once, when another process has the lock; `holder` names the place where it runs. */
  readonly onWait?: (holder: string) => void;
}

/**
 * Runs `work` while no other process of the bus runs work under the same key, and waits for it. The lock of a dead
 * process ends with its lease. A holder that hangs for longer than its lease may find another process at work when it
 * continues, so work under a lock has to be repeatable.
 */
export async function withLock<Result>(
  bucket: KeyedBytes,
  key: string,
  work: () => Promise<Result>,
  { leaseMs = LEASE_MS, onWait = () => {} }: LockOptions = {},
): Promise<Result> {
  const own = Buffer.from(`process ${process.pid} of ${hostname()}`);
  let revision = await take(bucket, key, own, { leaseMs, onWait });
  let renewal = Promise.resolve();
  const renewing = setInterval(() => {
    renewal = renewal.then(async () => {
      // After an error of the bus, the next renewal tries again; a lock that another process took stays lost.
      revision = await bucket.put(key, own, revision).catch(() => revision);
    });
  }, leaseMs / 3);
  try {
    return await work();
  } finally {
    clearInterval(renewing);
    await renewal;
    // Without an answer, the lock ends with its lease.
    await bucket.remove(key, revision).catch(() => undefined);
  }
}

async function take(
  bucket: KeyedBytes,
  key: string,
  own: Uint8Array,
  { leaseMs, onWait }: Required<LockOptions>,
): Promise<number> {
  const watch = new LeaseWatch();
  const endMs = performance.now() + BUS_AWAY_MAX_MS;
  let isTold = false;
  for (;;) {
    try {
      const stored = await bucket.get(key);
      if (stored?.bytes === undefined || watch.hasEnded(stored.revision, leaseMs)) {
        const revision = await claim(bucket, key, own, stored);
        if (revision !== undefined) return revision;
      } else if (!isTold) {
        isTold = true;
        onWait(Buffer.from(stored.bytes).toString('utf8'));
      }
    } catch (error) {
      // A bucket that was just made in a cluster has no leader for a moment.
      const isAway = error instanceof BusError && error.retryable && performance.now() < endMs;
      if (!isAway) throw error;
    }
    await sleep(TRY_EVERY_MS);
  }
}

/** The revision of the lock that is ours now; undefined when another process was faster. */
async function claim(
  bucket: KeyedBytes,
  key: string,
  own: Uint8Array,
  stored: KeyedValue | undefined,
): Promise<number | undefined> {
  try {
    return await bucket.put(key, own, stored?.revision ?? 0);
  } catch (error) {
    if (error instanceof BusError && error.reason === 'conflict') return undefined;
    throw error;
  }
}
