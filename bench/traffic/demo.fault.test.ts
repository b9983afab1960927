import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';
import { Cluster } from '../cluster/cluster.ts';

test('the demo sends traffic that is accepted, reports every second, and ends on a signal', async () => {
  const cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {},
  });
  try {
    await cluster.ready('web');
    const args = [
      join(projectRoot, 'dist/bench/traffic/demo.js'),
      '--url',
      cluster.url('web'),
      '--rate',
      '50',
    ];
    const demo = spawn(process.execPath, args, {
      env: { ...process.env, DATA_DIR: cluster.folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    for await (const line of createInterface({ input: demo.stdout })) {
      lines.push(line);
      if (lines.length === 4) break;
    }
    demo.kill('SIGINT');
    const [code] = await once(demo, 'exit');
    expect(code).toBe(0);
    expect(lines.at(-1)).toMatch(/ [1-9]\d* events\/s, \d+ visits in progress, [1-9]\d* live visitors$/);
  } finally {
    await cluster.stop();
  }
});
