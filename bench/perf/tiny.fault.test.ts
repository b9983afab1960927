import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';

const run = promisify(execFile);

test.each([['ingest'], ['pipeline'], ['query'], ['export']])(
  'the %s benchmark runs through',
  async (name) => {
    const program = join(projectRoot, 'dist/bench/main.js');
    const { stdout } = await run(process.execPath, [program, name, '--tiny']);
    // A tiny run says nothing about goals, but it shows that nothing failed.
    expect(stdout).toMatch(new RegExp(`^${name}: (reached|missed)$`, 'm'));
    expect(stdout).not.toMatch(/not answered|failed/);
  },
);
