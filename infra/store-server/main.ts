import { join } from 'node:path';
import { type Config, readConfig } from '../config.ts';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { exitWithParent } from '../process/parent-watch.ts';
import { BrokenParts, partsOnDisk } from './broken-parts.ts';
import { DiskSpace } from './disk-space.ts';
import { Engine } from './engine.ts';
import { engineException } from './exceptions.ts';
import { HttpInterface } from './http-interface.ts';
import { Spool } from './spool.ts';
import { hasThreads, lowerPriority, runWithThreads } from './threads.ts';
import { FailedWrite, WriteWatch } from './write-watch.ts';

const STORE_FOLDER = 'store';
const DRAIN_MAX_MS = 8000;
const SPOOL_MAX_BYTES = 4_294_967_296;

async function main(): Promise<void> {
  lowerPriority();
  const config = readConfig();
  const log = createLogger('store', config.LOG_LEVEL);
  exitWithParent();
  const disk = new DiskSpace({ folder: config.DATA_DIR, freeMinBytes: config.DISK_FREE_MIN_BYTES });
  const lack = await disk.lackForStart();
  if (lack !== undefined) throw new Error(`the store cannot start: ${lack}`);
  const spool = new Spool({ parent: join(config.DATA_DIR, 'store-spool'), bytesMax: SPOOL_MAX_BYTES });
  const failedWrite = new FailedWrite(config.DATA_DIR);
  const before = partsOnDisk(join(config.DATA_DIR, STORE_FOLDER));
  const engine = await openEngine(config, spool, disk);
  // Nothing that runs may continue, such as the removal of parts that were merged, so there is no orderly end.
  const end = () => {
    failedWrite.remember();
    process.kill(process.pid, 'SIGKILL');
  };
  const writes = new WriteWatch({ engine, log, onFailure: end });
  await writes.check();
  const brokenParts = new BrokenParts({ engine, before, log });
  try {
    await brokenParts.review({ afterFailedWrite: failedWrite.isRemembered });
    failedWrite.forget();
  } catch (error) {
    log.error({ err: error }, 'broken parts could not be reviewed; the next start does it again');
  }
  spool.removeLeftovers();
  const http = new HttpInterface({
    engine,
    spool,
    disk,
    writes,
    brokenParts,
    password: config.STORE_PASSWORD,
    queryPassword: config.STORE_QUERY_PASSWORD,
    metrics: new Metrics(),
    log,
  });
  const port = await http.listen(config.STORE_PORT);
  const url = `http://127.0.0.1:${port}`;
  process.stdout.write(`ready ${JSON.stringify({ url })}\n`);
  log.info({ url, engine: engine.version }, 'store ready');

  let isDraining = false;
  const drain = async () => {
    if (isDraining) return;
    isDraining = true;
    // A query blocked by a client that does not read ends when its connection is closed.
    setTimeout(() => {
      log.warn({ waitedMs: DRAIN_MAX_MS }, 'requests did not finish in time, closing their connections');
      http.closeConnections();
    }, DRAIN_MAX_MS).unref();
    // A normal exit would wait for the engine's threads.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 2 * DRAIN_MAX_MS).unref();
    await http.drain();
    await writes.stop();
    engine.close();
    spool.remove();
    log.info('drained');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void drain());
}

async function openEngine(config: Config, spool: Spool, disk: DiskSpace): Promise<Engine> {
  const folder = join(config.DATA_DIR, STORE_FOLDER);
  try {
    return await Engine.open({
      folder,
      settingsFolder: spool.folder,
      memoryMaxBytes: config.STORE_MEMORY_MAX_BYTES,
      keptFreeBytes: disk.keptFreeBytes,
    });
  } catch (error) {
    spool.remove();
    const reason = engineException(error).message.split('\n')[0];
    throw new Error(`the data folder ${folder} cannot be opened: ${reason}`);
  }
}

if (hasThreads()) {
  main().catch((error: unknown) => {
    process.stderr.write(`store: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
} else {
  runWithThreads();
}
