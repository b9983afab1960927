import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOlderServer } from './older-server.ts';
import { startStoreServer } from './store-server.ts';

/**
 * For `npm run conformance -- --as-24.8`: the outside server of this run is the embedded store behind one that knows what release
 * 24.8 knows. The processes of tests get its address as CLICKHOUSE_URL.
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.CONFORMANCE_AS !== '24.8') return undefined;
  const dataDir = mkdtempSync(join(tmpdir(), 'footfall-outside-'));
  const server = await startStoreServer({ dataDir });
  const older = await startOlderServer(server.url);
  process.env.CLICKHOUSE_URL = older.url;
  return async () => {
    process.stdout.write(
      `conformance: ${older.texts.length} statements passed as 24.8; rejected: ${older.rejected.join(', ') || 'none'}\n`,
    );
    await older.stop();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
