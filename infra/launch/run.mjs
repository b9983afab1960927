import { openDataFolder } from './data-folder.mjs';
import { Launch } from './launch.mjs';
import { checkPort, freePort } from './ports.mjs';
import { prepare } from './prepare.mjs';
import { RIGHTS_OF_OTHERS } from './private-folder.mjs';
import { explain, Problem } from './problem.mjs';
import { endLeftovers } from './run-record.mjs';
import { readLaunchSettings } from './settings.mjs';
import { stopRequests } from './stop-requests.mjs';
import { createTerminal, wantsColor } from './terminal.mjs';

/** @typedef {import('./terminal.mjs').Terminal} Terminal */

const DEMO = '--demo';

/**
 * Entry point of `npm start`: prepares, starts every part, restarts parts that exit, drains. Sets the exit code.
 * @param {NodeJS.ProcessEnv} env
 * @param {readonly string[]} args `--demo` or nothing
 */
export async function run(env, args) {
  // The terminal may close before this process ends; the parts must be drained all the same.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  const terminal = createTerminal(process.stdout, { color: wantsColor(process.stdout, env) });
  try {
    const unknown = args.find((arg) => arg !== DEMO);
    if (unknown !== undefined)
      throw new Problem(`${unknown} is not an option of npm start. The only one is ${DEMO}.`);
    await runLocked({ env, withDemo: args.includes(DEMO) }, terminal);
  } catch (error) {
    process.stderr.write(explain(error));
    process.exitCode = 1;
  }
}

/**
 * Everything that can be checked is checked before anything is started, the cheap checks first.
 * @param {{ env: NodeJS.ProcessEnv, withDemo: boolean }} wanted
 * @param {Terminal} terminal
 */
async function runLocked({ env, withDemo }, terminal) {
  const settings = readLaunchSettings(env);
  terminal.line('footfall');
  await terminal.step('node', () => process.versions.node);
  const folder = openDataFolder(settings.dataDir);
  try {
    if (folder.closedFiles > 0) {
      const text = `closed ${settings.dataDir} to other users of this machine; ${folder.closedFiles} of its files and folders were open`;
      terminal.part('data', text);
    }
    for (const name of await endLeftovers(settings.dataDir)) {
      terminal.part(name, 'was left running by a killed launcher and was stopped');
    }
    await checkPort(settings.host, settings.port);
    if (settings.queries > 0) await checkPort(settings.host, settings.queryPort, 'QUERY_PORT');
    const server = await prepare(env, terminal);
    // Only now: packages and build may be used by others. From here on, no file of this process or of a part is open.
    process.umask(RIGHTS_OF_OTHERS);
    const port = settings.port === 0 ? await freePort(settings.host) : settings.port;
    const { secrets, earlierStreams } = folder;
    const options = {
      settings: { ...settings, port },
      secrets,
      earlierStreams,
      server,
      env,
      withDemo,
      terminal,
    };
    await serve(new Launch(options), terminal);
  } finally {
    folder.lock.release();
  }
}

/**
 * @param {Launch} launch
 * @param {Terminal} terminal
 */
async function serve(launch, terminal) {
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
