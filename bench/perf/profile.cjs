// Loaded in front of a program with `NODE_OPTIONS=--require`: writes a CPU profile of each of its threads to
// PROFILE_FOLDER when it ends. `--cpu-prof` would do that, but Node 20 does not take it from NODE_OPTIONS.
const { mkdirSync, writeFileSync } = require('node:fs');
const { Session } = require('node:inspector');
const { basename, join } = require('node:path');
const { threadId } = require('node:worker_threads');

const folder = process.env.PROFILE_FOLDER;
if (folder !== undefined && folder !== '') {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.start');
  process.once('exit', () => {
    session.post('Profiler.stop', (error, result) => {
      if (error !== null) return;
      mkdirSync(folder, { recursive: true });
      const program = basename(process.argv[1] ?? 'node', '.js');
      const path = join(folder, `${program}-${process.pid}-${threadId}.cpuprofile`);
      writeFileSync(path, JSON.stringify(result.profile));
    });
  });
}
