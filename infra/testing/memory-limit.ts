import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A group of processes whose memory, page cache included, the kernel limits. */
export interface MemoryLimit {
  /** A process that writes its id to this file belongs to the group, and so do all that it starts. */
  readonly membersFile: string;
  /** The peak memory of the group, in bytes. */
  peakBytes(): number;
  /** Removes the group, whose processes must be gone. */
  remove(): void;
}

interface Version {
  readonly folder: string;
  readonly limitFile: string;
  readonly peakFile: string;
}

const VERSIONS: readonly Version[] = [
  { folder: '/sys/fs/cgroup', limitFile: 'memory.max', peakFile: 'memory.peak' },
  {
    folder: '/sys/fs/cgroup/memory',
    limitFile: 'memory.limit_in_bytes',
    peakFile: 'memory.max_usage_in_bytes',
  },
];

/** A new group, or undefined where this machine or its user may make none. */
export function limitMemory(bytes: number): MemoryLimit | undefined {
  for (const { folder, limitFile, peakFile } of VERSIONS) {
    const group = join(folder, `footfall-${process.pid}`);
    try {
      mkdirSync(group);
    } catch {
      continue;
    }
    const remove = () => {
      try {
        rmdirSync(group);
      } catch {
        // A process of it may still be ending; an empty group costs nothing.
      }
    };
    if (existsSync(join(group, limitFile)) && existsSync(join(group, peakFile))) {
      writeFileSync(join(group, limitFile), String(bytes));
      return {
        membersFile: join(group, 'cgroup.procs'),
        peakBytes: () => Number(readFileSync(join(group, peakFile), 'utf8')),
        remove,
      };
    }
    remove();
  }
  return undefined;
}

/** Memory of a process that the kernel cannot drop, unlike the code of a program: its allocations. 0 when it has ended. */
export function allocatedBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kilobytes = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
    return (kilobytes('RssAnon') + kilobytes('RssShmem')) * 1024;
  } catch {
    return 0;
  }
}
