import { type Config, NO_SETTINGS_FILE } from '../config.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { Launch } from './launch.ts';
import { launchEnvironment, readLaunchSettings } from './launch-settings.ts';
import { findNatsServer } from './nats-server.ts';
import { checkPort, freePort } from './ports.ts';
import { RIGHTS_OF_OTHERS } from './private-folder.ts';
import { orExplain } from './problem.mjs';
import { endLeftovers } from './run-record.ts';
import { stopRequests } from './stop-requests.ts';
import type { Terminal } from './terminal.mjs';

export interface Start {
  readonly env: NodeJS.ProcessEnv;
  /** Sends made-up traffic and shows what comes of it. */
  readonly withDemo: boolean;
  readonly terminal: Terminal;
}

/**
 * `npm start`, once packages and build are up to date: starts every part, restarts parts that exit, drains. Sets the exit code.
 *
 * Everything that can be checked is checked before anything is started, the cheap checks first.
 */
export async function run(start: Start): Promise<void> {
  const { terminal } = start;
  await orExplain(async () => {
    const given = launchEnvironment(start.env);
    const settings = readLaunchSettings(given);
    const folder = openDataFolder(settings.DATA_DIR);
    try {
      if (folder.closedFiles > 0) {
        const text = `closed ${settings.DATA_DIR} to other users of this machine; ${folder.closedFiles} of its files and folders were open`;
        terminal.part('data', text);
      }
      for (const name of await endLeftovers(settings.DATA_DIR)) {
        terminal.part(name, 'was left running by a killed launcher and was stopped');
      }
      await checkPort(settings.HOST, settings.PORT);
      if (settings.QUERIES > 0) await checkPort(settings.HOST, settings.QUERY_PORT, 'QUERY_PORT');
      // A part that is restarted has the settings of this start, whatever the file says by then.
      const env = { ...given.env, FOOTFALL_CONF: NO_SETTINGS_FILE };
      await serve(await launchOf({ ...start, env }, settings, folder), terminal);
    } finally {
      folder.lock.release();
    }
  });
}

async function launchOf(
  { env, withDemo, terminal }: Start,
  settings: Config,
  { secrets }: DataFolder,
): Promise<Launch> {
  const server = await findNatsServer(env, terminal);
  // Only now: a nats-server in .cache/ may be used by others. From here on, no file of this process or of a part is open.
  process.umask(RIGHTS_OF_OTHERS);
  const PORT = settings.PORT === 0 ? await freePort(settings.HOST) : settings.PORT;
  return new Launch({
    ...{ settings: { ...settings, PORT }, secrets },
    ...{ server, env, withDemo, terminal },
  });
}

async function serve(launch: Launch, terminal: Terminal): Promise<void> {
  const stop = stopRequests(() => launch.killAll());
  try {
    const started = launch.start();
    started.catch(() => {}); // Handled below, unless a stop was requested first: then the failure is a result of the
    // stop.
    await Promise.race([started, stop.requested]);
    await Promise.race([launch.givenUp, stop.requested]);
    terminal.line('');
  } finally {
    await launch.drain();
    stop.dispose();
  }
}
