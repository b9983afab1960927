import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Bus } from '../../../../infra/bus/bus.ts';
import { projectRoot } from '../../../../infra/root.ts';

const PROGRAM = join(projectRoot, 'dist/query/manage/admin/admin.js');
const BUCKETS = ['control', 'aliases'];

/** The outcome of one run of the program. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program as `npm run admin -- …` does; `env` overrides variables. */
export function runAdmin(
  natsUrl: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, NATS_URL: natsUrl, ...env } };
    const child = execFile(process.execPath, [PROGRAM, ...args], options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}

/** Starts the program without waiting, so that a test can kill it. */
export function startAdmin(natsUrl: string, args: readonly string[]): ChildProcess {
  const env = { ...process.env, NATS_URL: natsUrl };
  return spawn(process.execPath, [PROGRAM, ...args], { env, stdio: 'ignore' });
}

/** Every value of the control plane including salts, in base64, by bucket and key. */
export async function contentsOf(bus: Bus): Promise<Map<string, string>> {
  const contents = new Map<string, string>();
  for (const name of BUCKETS) {
    const bucket = await bus.keyed(name);
    const keys = await bucket.keys();
    const values = await Promise.all(keys.sort().map(async (key) => [key, await bucket.get(key)] as const));
    for (const [key, value] of values) {
      if (value?.bytes !== undefined) {
        contents.set(`${name}/${key}`, Buffer.from(value.bytes).toString('base64'));
      }
    }
  }
  return contents;
}

/** The same without salts, as an object for comparison. */
export async function managedOf(bus: Bus): Promise<Record<string, string>> {
  const contents = await contentsOf(bus);
  return Object.fromEntries([...contents].filter(([place]) => !place.startsWith('control/salt.')));
}
