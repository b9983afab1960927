import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { ownResidentBytes } from '../../cluster/process-cost.ts';

/** Arguments of node with which a process collects its garbage at SIGUSR2, so that memory can be compared. */
export const COLLECTABLE: readonly string[] = [
  '--expose-gc',
  '--import',
  'data:text/javascript,process.on("SIGUSR2",()=>globalThis.gc())',
];

const NANOS_PER_MS = 1_000_000;
/** Makes the kernel begin anew with the highest resident memory of a process; see proc(5). */
const RESET_PEAK = '5';

/** CPU time and memory of one process, as the kernel counts them: exact where ticks of 10 ms would not be. */
export class ProcessMeter {
  readonly #pid: number;
  #restingBytes = 0;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** CPU time of all threads that run. */
  cpuMs(): number {
    let total = 0;
    for (const thread of readdirSync(`/proc/${this.#pid}/task`)) total += this.#threadMs(thread);
    return total;
  }

  /** CPU time of the thread that has the event loop. */
  loopCpuMs(): number {
    return this.#threadMs(String(this.#pid));
  }

  /** From here on, `growthMb` counts. */
  beginMemory(): void {
    writeFileSync(`/proc/${this.#pid}/clear_refs`, RESET_PEAK);
    this.#restingBytes = ownResidentBytes(this.#pid);
  }

  /** By how much the process was larger than at `beginMemory`, at its largest. */
  growthMb(): number {
    const status = readFileSync(`/proc/${this.#pid}/status`, 'utf8');
    const peakBytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
    return Math.max(0, peakBytes - this.#restingBytes) / 1_000_000;
  }

  /** Needs a process with `COLLECTABLE`; returns before it has collected. */
  collectGarbage(): void {
    process.kill(this.#pid, 'SIGUSR2');
  }

  #threadMs(thread: string): number {
    try {
      const [onCpuNanos = '0'] = readFileSync(`/proc/${this.#pid}/task/${thread}/schedstat`, 'utf8').split(
        ' ',
      );
      return Number(onCpuNanos) / NANOS_PER_MS;
    } catch {
      return 0; // The thread ended.
    }
  }
}
