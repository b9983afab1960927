import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';

const run = promisify(execFile);

/** The error of a failed program contains only its stderr; the reason for an invalid result is in its report. */
function withOutput(error: Error & { readonly stdout?: string }): never {
  throw new Error(`${error.message}\n${error.stdout ?? ''}`, { cause: error });
}

// Each keeps one core busy for most of its time, and no figure counts: three run at a time.
test.concurrent.each([
  ['query', 'memory', 'store-away', 'ingest'],
  ['pipeline', 'overload', 'live', 'paths'],
  ['take-over', 'query --events 300', 'export', 'neighbour'],
])(
  'the benchmarks run through: %s, %s, %s',
  async (...commands) => {
    const program = join(projectRoot, 'dist/bench/main.js');
    for (const command of commands) {
      const [name = '', ...options] = command.split(' ');
      const { stdout } = await run(process.execPath, [program, name, ...options, '--tiny']).catch(withOutput);
      // The goals mean nothing for a tiny run, but it shows that nothing failed.
      expect(stdout).toMatch(new RegExp(`^${name}: (reached|missed)$`, 'm'));
      expect(stdout).not.toMatch(/not answered|failed/);
    }
  },
  600_000,
);
