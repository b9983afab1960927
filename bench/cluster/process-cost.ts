import { readdirSync, readFileSync } from 'node:fs';

// Linux counts CPU time in ticks of this rate on every machine that Node runs on.
const TICKS_PER_SEC = 100;

/** A process and all its descendants: the store's engine, for one, is a child of its HTTP process. */
export function familyOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const child = Number(name);
    const parent = Number.isInteger(child) ? Number(statFields(child)?.[1]) : 0;
    if (parent > 0) children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  const family = [pid];
  // The list grows while the loop walks it.
  for (const member of family) family.push(...(children.get(member) ?? []));
  return family;
}

/** CPU time that a process and its descendants have used in all their threads, user and system. */
export function cpuMicros(pid: number): number {
  const ticks = familyOf(pid).map((member) => {
    const fields = statFields(member) ?? [];
    return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  });
  return (ticks.reduce((sum, spent) => sum + spent, 0) * 1_000_000) / TICKS_PER_SEC;
}

/** Resident memory of a process and its descendants. */
export function residentBytes(pid: number): number {
  return familyOf(pid)
    .map(ownResidentBytes)
    .reduce((sum, size) => sum + size, 0);
}

/** Resident memory of one process, without its descendants. */
export function ownResidentBytes(pid: number): number {
  const status = readOf(pid, 'status') ?? '';
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
}

/** Bytes that a process and its descendants have handed to the disk, without processes that ended. */
export function writtenBytes(pid: number): number {
  const bytes = familyOf(pid).map((member) =>
    Number(/^write_bytes: (\d+)$/m.exec(readOf(member, 'io') ?? '')?.[1] ?? 0),
  );
  return bytes.reduce((sum, written) => sum + written, 0);
}

/** Measures the CPU time of several processes from now until the returned function is called, by name. */
export function startCpuMeter(pids: Readonly<Record<string, number>>): () => Record<string, number> {
  const before = Object.entries(pids).map(([name, pid]) => ({ name, pid, micros: cpuMicros(pid) }));
  return () => Object.fromEntries(before.map(({ name, pid, micros }) => [name, cpuMicros(pid) - micros]));
}

/**
 * The fields of `/proc/<pid>/stat` from the state on: the parent is the 2nd, user and system time the 12th and 13th.
 */
function statFields(pid: number): string[] | undefined {
  const stat = readOf(pid, 'stat');
  // The name in brackets in front may itself contain spaces and brackets.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Undefined when the process has exited. */
function readOf(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
