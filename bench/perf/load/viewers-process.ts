import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { projectRoot } from '../../../infra/root.ts';
import { cpuMicros } from '../../cluster/process-cost.ts';
import type { Arrivals, ViewersFigures, ViewersOrder, ViewersPlan } from './viewers.ts';

/** `viewers.ts` in its own process, so that its connections and timers share nothing with the benchmark. */
export class ViewersProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  private constructor(planPath: string) {
    const program = join(projectRoot, 'dist/bench/main.js');
    this.#child = spawn(process.execPath, [program, 'viewers', planPath], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Resolves when every connection is open and has a number. The plan is written to `folder`. */
  static async start(folder: string, plan: ViewersPlan): Promise<ViewersProcess> {
    const planPath = join(folder, 'viewers.json');
    writeFileSync(planPath, JSON.stringify(plan));
    const viewers = new ViewersProcess(planPath);
    await viewers.#line();
    return viewers;
  }

  /** CPU time of the process. */
  get cpuMicros(): number {
    return cpuMicros(this.#child.pid ?? 0);
  }

  /** Begins a stretch, with visitors that come one by one, or without. */
  async begin(arrivals: Arrivals | null): Promise<void> {
    await this.#order({ kind: 'begin', arrivals });
  }

  /** The figures since `begin`. */
  figures(): Promise<ViewersFigures> {
    return this.#order({ kind: 'figures' });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.stdin.end();
    await exited;
  }

  async #order(order: ViewersOrder): Promise<ViewersFigures> {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
    return JSON.parse(await this.#line()) as ViewersFigures;
  }

  async #line(): Promise<string> {
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('the viewers ended; see above');
    return line.value;
  }
}
