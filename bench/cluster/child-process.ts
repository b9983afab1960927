import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { assert } from '../../infra/assert.ts';
import { until } from '../../infra/testing/look-again.ts';
import { familyOf } from './process-cost.ts';

/** The start of one process. `isReady` replaces the `ready` line for a program that prints none. */
export interface ProcessPlan {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logPath: string;
  readonly isReady: (() => Promise<boolean>) | undefined;
}

const READY_MAX_MS = 60_000;
const DRAIN_MAX_MS = 20_000;
const FREEZE_MAX_MS = 5_000;

/** One process of a cluster, which can be killed and started again; its output goes to a file. */
export class OwnProcess {
  readonly plan: ProcessPlan;
  #child: ChildProcess | undefined;
  #said = '';

  constructor(plan: ProcessPlan) {
    this.plan = plan;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The ending of the process: the signal's name or the exit code; empty while it runs. */
  get ending(): string {
    return this.#child?.signalCode ?? this.#child?.exitCode?.toString() ?? '';
  }

  /** The text that the process printed after `ready` at its last start. */
  get said(): string {
    return this.#said;
  }

  /** Everything that the process ever printed, over all its lives. */
  log(): string {
    return readFileSync(this.plan.logPath, 'utf8');
  }

  /** Starts the process and waits until it is ready; returns its output after `ready`. `env` applies to this life only. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<string> {
    const child = this.launch(env);
    const ready = this.plan.isReady === undefined ? readyLine(child) : readyWhen(this.plan.isReady);
    const failed = Promise.race([
      once(child, 'exit').then(() => `ended (${this.ending})`),
      deadline(READY_MAX_MS).then(() => 'was not ready in time'),
    ]);
    const outcome = await Promise.race([ready.then((said) => ({ said })), failed]);
    if (typeof outcome !== 'string') {
      this.#said = outcome.said;
      return outcome.said;
    }
    child.kill('SIGKILL');
    throw new Error(`${this.plan.name} ${outcome}:\n${this.log().slice(-4_000)}`);
  }

  /** Starts the process without waiting: it may be meant to die before it is ready. */
  launch(env: Readonly<Record<string, string>> = {}): ChildProcess {
    const { command, args, logPath } = this.plan;
    const log = createWriteStream(logPath, { flags: 'a' });
    const child = spawn(command, args, {
      // Our processes exit when this pipe closes, so they end with the test however that ends.
      env: { ...process.env, CRASH_POINT: '', EXIT_WITH_STDIN: '1', ...this.plan.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    child.once('close', () => log.end());
    const endWithUs = () => void child.kill('SIGKILL');
    process.once('exit', endWithUs);
    child.once('exit', () => process.off('exit', endWithUs));
    this.#child = child;
    return child;
  }

  /** Writes a line to its standard input. */
  tell(line: string): void {
    this.#child?.stdin?.write(`${line}\n`);
  }

  /** Resolves when the process has exited, for any reason. */
  async gone(): Promise<void> {
    if (this.running && this.#child !== undefined) await once(this.#child, 'exit');
  }

  /** Sends SIGKILL to the process and its descendants. */
  async kill(): Promise<void> {
    if (this.running) killFamily(this.pid);
    await this.gone();
  }

  /** Freezes the process and its descendants: their connections stay, and none of them answers. */
  async freeze(): Promise<void> {
    const family = familyOf(this.pid);
    for (const member of family) process.kill(member, 'SIGSTOP');
    // A signal arrives some time after it was sent, thread by thread.
    await waitFor(`${this.plan.name} is frozen`, () => family.every(isFrozen), FREEZE_MAX_MS);
  }

  /** Resumes a frozen process. */
  resume(): void {
    if (this.running) for (const member of familyOf(this.pid)) process.kill(member, 'SIGCONT');
  }

  /** Asks the process to exit, and kills it if that takes too long. A frozen process is resumed first. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#child?.kill('SIGKILL'), DRAIN_MAX_MS);
    this.resume();
    this.#child?.kill('SIGTERM');
    await this.gone();
    clearTimeout(timer);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }
}

function isFrozen(pid: number): boolean {
  const threads = `/proc/${pid}/task`;
  return readdirSync(threads).every((thread) =>
    /\) [Tt] /.test(readFileSync(`${threads}/${thread}/stat`, 'utf8')),
  );
}

/** Sends SIGKILL to a process of ours and its descendants. */
export function killFamily(pid: number): void {
  // The family of 0 would be every process of the machine.
  assert(pid > 0, 'the process was started');
  for (const member of familyOf(pid)) {
    try {
      process.kill(member, 'SIGKILL');
    } catch {
      // It exited by itself, like a child after its parent was killed.
    }
  }
}

/** Polls `condition` until it is true; throws at the deadline. */
export async function waitFor(
  what: string,
  condition: () => Promise<boolean> | boolean,
  maxMs: number,
): Promise<void> {
  await until(what, async () => (await condition()) || undefined, maxMs);
}

async function readyWhen(condition: () => Promise<boolean>): Promise<string> {
  await waitFor('readiness', condition, READY_MAX_MS);
  return '';
}

function readyLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    if (child.stdout === null) return;
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      if (line.startsWith('ready ')) resolve(line.slice(6));
    });
  });
}

function deadline(maxMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, maxMs).unref());
}
