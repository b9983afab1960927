import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { carriesMark, endProcess } from './processes.ts';
import { writeWhole } from './write-whole.ts';

export interface RunRecord {
  readonly id: string;
  setPart(name: string, pid: number | undefined): void;
  clear(): void;
}
/** The content of a possibly damaged file. */
interface StoredRun {
  readonly id?: unknown;
  readonly parts?: Record<string, unknown>;
}

// Every process of a run has this variable in its environment, so that the next start can distinguish it from an unrelated process with the
// same ID.
export const RUN_VARIABLE = 'FOOTFALL_RUN';
const GRACE_MS = 10_000;
const RETRY_MS = 1_000;

/** Maintains `run.json`, the processes of this run, for the case that this launcher is killed. */
export function createRunRecord(dataDir: string): RunRecord {
  const path = join(dataDir, 'run.json');
  const id = randomUUID();
  const parts: Record<string, number> = {};
  const write = () => writeWhole(path, `${JSON.stringify({ id, launcher: process.pid, parts }, null, 2)}\n`);
  let retry: NodeJS.Timeout | undefined;
  const writeSoon = () => {
    clearTimeout(retry);
    try {
      write();
    } catch {
      // A full disk, for example. The service continues; the record is only needed when this launcher is killed.
      retry = setTimeout(writeSoon, RETRY_MS).unref();
    }
  };
  write();
  return {
    id,
    setPart: (name, pid) => {
      if (pid === undefined) delete parts[name];
      else parts[name] = pid;
      writeSoon();
    },
    clear: () => {
      clearTimeout(retry);
      rmSync(path, { force: true });
    },
  };
}

/**
 * Stops the parts that a killed launcher left running on this data folder, in the normal order. Most parts exit by themselves when their
 * launcher is gone; the bus cannot. Returns the names of the parts that were stopped.
 */
export async function endLeftovers(dataDir: string): Promise<string[]> {
  const run = readRun(join(dataDir, 'run.json'));
  if (typeof run.id !== 'string' || run.id === '') return [];
  const mark = `${RUN_VARIABLE}=${run.id}`;
  const ended = [];
  for (const [name, pid] of Object.entries(run.parts ?? {}).reverse()) {
    if (typeof pid !== 'number' || pid <= 1 || !carriesMark(pid, mark)) continue;
    await endProcess(pid, GRACE_MS);
    ended.push(name);
  }
  return ended;
}

function readRun(path: string): StoredRun {
  if (!existsSync(path)) return {};
  try {
    return JSON.parse(readFileSync(path, 'utf8')) ?? {};
  } catch {
    return {}; // Without the record nothing can be stopped; a port or a lock that is still in use will be reported.
  }
}
