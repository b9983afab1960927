import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';
import type { Cluster } from '../cluster/cluster.ts';

const ADMIN = join(projectRoot, 'dist/query/manage/admin/admin.js');

/** The outcome of a command. */
export interface AdminRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Env = Readonly<Record<string, string>>;

/** Starts `npm run admin -- …` beside a cluster; `settings` are more of its environment. */
export function startAdminOf(
  cluster: Cluster,
  args: readonly string[],
  settings: Env = {},
): { child: ChildProcess; ended: Promise<AdminRun> } {
  const env = { ...process.env, NATS_URL: cluster.busUrl, CLICKHOUSE_URL: cluster.storeUrl, ...settings };
  const child = spawn(process.execPath, [ADMIN, ...args], { env });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const ended = new Promise<AdminRun>((resolve) =>
    child.once('close', (code) => resolve({ code, stdout, stderr })),
  );
  return { child, ended };
}

/** Runs a command to its end; throws unless it succeeds. */
export async function admin(cluster: Cluster, args: readonly string[], settings?: Env): Promise<AdminRun> {
  const ran = await startAdminOf(cluster, args, settings).ended;
  if (ran.code !== 0) throw new Error(`${args.join(' ')}: ${ran.code}\n${ran.stderr}`);
  return ran;
}

/** Starts a command and kills it as soon as something is true. */
export async function kill(
  cluster: Cluster,
  args: readonly string[],
  isThere: () => boolean | Promise<boolean>,
  settings?: Env,
): Promise<void> {
  const { child, ended } = startAdminOf(cluster, args, settings);
  while (child.exitCode === null && !(await isThere()))
    await new Promise((resolve) => setTimeout(resolve, 5));
  child.kill('SIGKILL');
  const { code, stderr } = await ended;
  if (code !== null) throw new Error(`${args.join(' ')} ended before it was killed: ${code}\n${stderr}`);
}
