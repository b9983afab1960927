import { closeSync, existsSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { checkWritable } from '../data-folder.ts';
import { freeBytesOf, nextState } from '../disk.ts';
import { RIGHTS_OF_OTHERS } from '../private-folder.ts';
import { Problem } from '../problem.mjs';
import type { Finding } from './findings.mjs';

const GB = 1e9;
const WRITES = 20;
const WRITE_BYTES = 4_096;
/** An event is acknowledged after a write to the disk, so this is the least time that every sender waits. */
const SYNC_ADVISED_MS = 20;
/** The bus keeps at most `BUS_BYTES_MAX` of events and the same of updates, beside the data that the store keeps for good. */
const BUS_SHARES = 2;

type DiskSettings = Pick<Config, 'DATA_DIR' | 'DISK_FREE_MIN_BYTES' | 'BUS_BYTES_MAX' | 'NATS_URL'>;

export function examineFolder(dataDir: string): { readonly isThere: boolean; readonly findings: Finding[] } {
  if (!existsSync(dataDir))
    return {
      isThere: false,
      findings: [{ name: 'data', state: 'good', text: `${dataDir} will be made by the first start` }],
    };
  try {
    checkWritable(dataDir);
    const isOpen = (statSync(dataDir).mode & RIGHTS_OF_OTHERS) !== 0;
    const text = isOpen ? `${dataDir} is open to other users; a start closes it` : dataDir;
    return { isThere: true, findings: [{ name: 'data', state: isOpen ? 'advice' : 'good', text }] };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { isThere: false, findings: [{ name: 'data', state: 'problem', text: error.message }] };
  }
}

export function examineDisk(settings: DiskSettings): Finding[] {
  const { DATA_DIR: dataDir, DISK_FREE_MIN_BYTES: leastBytes } = settings;
  const busBytes = settings.NATS_URL === '' ? BUS_SHARES * settings.BUS_BYTES_MAX : 0;
  return [diskFinding(freeBytesOf(dataDir), leastBytes, busBytes), examineWrites(dataDir)];
}

/** Compares the free bytes with `DISK_FREE_MIN_BYTES`, and with what the bus may store beside it while the store is unavailable. */
export function diskFinding(freeBytes: number, leastBytes: number, busBytes: number): Finding {
  if (!Number.isFinite(freeBytes))
    return { name: 'disk', state: 'good', text: 'the file system does not say how much is free' };
  const free = `${gb(freeBytes)} free`;
  const state = nextState('free', freeBytes, leastBytes);
  if (state !== 'free') {
    const effect = state === 'full' ? 'events are rejected' : 'the service is not ready';
    return {
      name: 'disk',
      state: 'problem',
      text: `${free}: ${effect}. Free space, ${gb(leastBytes)} or more.`,
    };
  }
  if (freeBytes < leastBytes + busBytes)
    return {
      name: 'disk',
      state: 'advice',
      text: `${free}: while the store is away the bus may keep ${gb(busBytes)}. Free space, or set BUS_BYTES_MAX lower.`,
    };
  return { name: 'disk', state: 'good', text: free };
}

export function syncFinding(syncMs: readonly number[]): Finding {
  const median = [...syncMs].sort((a, b) => a - b)[Math.floor(syncMs.length / 2)] ?? 0;
  const text = `a write is on the disk after ${median.toFixed(1)} ms (median of ${syncMs.length})`;
  if (median <= SYNC_ADVISED_MS) return { name: 'disk speed', state: 'good', text };
  return {
    name: 'disk speed',
    state: 'advice',
    text: `${text}. Senders wait at least that long; use a faster disk.`,
  };
}

export function examineWrites(dataDir: string): Finding {
  try {
    return syncFinding(syncTimes(dataDir));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { name: 'disk speed', state: 'problem', text: `a file cannot be written (${code ?? message})` };
  }
}

/** Times that writes to the data folder take until they are on the disk, in milliseconds. */
function syncTimes(dataDir: string): number[] {
  const path = join(dataDir, `doctor-${process.pid}.part`);
  const bytes = Buffer.alloc(WRITE_BYTES);
  const file = openSync(path, 'wx', 0o600);
  try {
    return Array.from({ length: WRITES }, () => {
      const startedAtMs = performance.now();
      writeSync(file, bytes);
      fsyncSync(file);
      return performance.now() - startedAtMs;
    });
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

function gb(bytes: number) {
  return `${(bytes / GB).toFixed(1)} GB`;
}
