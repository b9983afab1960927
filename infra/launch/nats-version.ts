import { execFile } from 'node:child_process';
import { isAtLeast } from './node-version.mjs';

export type NatsServer = { readonly path: string; readonly version: string; readonly from: string };

/**
 * The first version with `sync_interval: always`, with which an acknowledged message is on disk and not only in the
 * page cache.
 */
export const NATS_LEAST = '2.10';

/** The version in the output of `nats-server --version`, such as `nats-server: v2.10.27`; undefined when there is none. */
export function parseNatsVersion(output: string): string | undefined {
  return /nats-server:?\s+v?(\d+\.\d+\.\d+[\w.+-]*)/.exec(output)?.[1];
}

/**
 * Runs the program to get its version; undefined when it does not run or is older than 2.10. `from` says where it was found.
 */
export async function probeNatsServer(path: string, from: string): Promise<NatsServer | undefined> {
  const output = await new Promise((resolve) => {
    execFile(path, ['--version'], { timeout: 10_000 }, (error, stdout, stderr) =>
      resolve(error === null ? stdout + stderr : ''),
    );
  });
  const version = parseNatsVersion(String(output));
  return version !== undefined && isAtLeast(version, NATS_LEAST) ? { path, version, from } : undefined;
}
