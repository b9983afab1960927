import { join } from 'node:path';
import { Reloader } from './reloader.mjs';
import { projectRoot } from './root.mjs';

// `npm run dev`: the whole service from source, built and restarted after each change. Arguments behind `--` go to `npm start`.

const reloader = new Reloader({
  root: projectRoot,
  folders: ['infra', 'ingest', 'processor', 'query', 'bench/traffic'],
  command: [process.execPath, join(projectRoot, 'infra/launch/start.mjs'), ...process.argv.slice(2)],
  say: (line) => process.stdout.write(`dev: ${line}\n`),
});
/** @type {NodeJS.Signals[]} */
const SIGNALS = ['SIGINT', 'SIGTERM'];
for (const signal of SIGNALS) process.on(signal, () => reloader.stop(signal));
reloader.start();
process.exitCode = await reloader.ended;
