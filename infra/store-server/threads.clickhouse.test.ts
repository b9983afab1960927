import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Store } from '../store/store.ts';
import { startStoreServer } from '../testing/store-server.ts';

test.runIf(process.platform === 'linux')(
  'every thread of the store gives way to other programs',
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'footfall-store-threads-'));
    const server = await startStoreServer({ dataDir });
    const store = new Store({ url: server.url, database: 'default', requestTimeoutMs: 20_000 });
    await store.query('SELECT sum(number) FROM numbers_mt(1000000)');
    const threads = readdirSync(`/proc/${server.pid}/task`).map((thread) => getPriority(Number(thread)));
    expect(threads.length).toBeGreaterThan(32);
    expect(threads).toContain(getPriority() + 5);
    // The engine gives the thread that watches memory the highest priority, if it runs as root.
    expect(threads.filter((priority) => priority === getPriority())).toEqual([]);
    await store.close();
    await server.stop();
    rmSync(dataDir, { recursive: true });
  },
);
