import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/launch/root.mjs';
import { changedFiles } from './changed-files.mjs';
import { touchedTests, whyLeft } from './choice.mjs';
import { COVERED } from './covered.mjs';

// Runs the long tests whose folders the change of HEAD touches, one after the other within a limit. `.ci/run` calls it after `npm test`,
// with the seconds that it has taken so far.

const LONG_TESTS_S = 15 * 60;
/** For all of `.ci/run`: on a machine so slow that `npm test` takes it all, no long test runs. */
const WHOLE_RUN_S = 60 * 60;
const takenS = Number(process.argv[2] ?? 0);
const LIMIT_S = Math.max(0, Math.min(LONG_TESTS_S, WHOLE_RUN_S - takenS));
const KILL_AFTER_MS = 10_000;
const RESULTS = join(projectRoot, 'bench/results/long-tests.json');

/** @param {string} line */
const say = (line) => process.stdout.write(`long tests: ${line}\n`);

const changed = changedFiles(projectRoot);
if ('unknown' in changed) say(`none, since the changed files are unknown: ${changed.unknown}`);
else process.exitCode = await runTouched(changed);

/**
 * @param {{ base: string, files: string[] }} change
 * @returns {Promise<number>} the exit code
 */
async function runTouched({ base, files }) {
  const { files: lastRuns } = JSON.parse(readFileSync(RESULTS, 'utf8'));
  const touched = touchedTests(files, COVERED, lastRuns);
  say(`${files.length} files changed since ${base}; they touch ${touched.length} long tests`);
  const startMs = performance.now();
  const leftS = () => LIMIT_S - (performance.now() - startMs) / 1_000;
  let failed = 0;
  for (const candidate of touched) {
    const why = whyLeft(candidate, leftS());
    if (why !== undefined) {
      say(`left out ${candidate.file}: it ${why}`);
      continue;
    }
    say(`running ${candidate.file}`);
    const outcome = await run(candidate.file, leftS() * 1_000);
    if (outcome === 'failed') failed += 1;
    if (outcome === 'ended') say(`ended ${candidate.file} at the limit of ${LIMIT_S} s: that is no result`);
    else say(`${outcome} ${candidate.file}`);
  }
  return failed === 0 ? 0 : 1;
}

/**
 * @param {string} file
 * @param {number} maxMs
 * @returns {Promise<'passed' | 'failed' | 'ended'>}
 */
function run(file, maxMs) {
  const vitest = join(projectRoot, 'node_modules/vitest/vitest.mjs');
  // In its own group, so that the processes of the test end with it.
  const child = spawn(process.execPath, [vitest, 'run', '--project', 'long', file], {
    cwd: projectRoot,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  /** @param {NodeJS.Signals} signal */
  const end = (signal) => {
    try {
      process.kill(-Number(child.pid), signal);
    } catch {
      // The group has ended.
    }
  };
  let isLate = false;
  const timers = [
    setTimeout(() => {
      isLate = true;
      end('SIGTERM');
    }, maxMs),
    setTimeout(() => end('SIGKILL'), maxMs + KILL_AFTER_MS),
  ];
  const interrupted = () => {
    end('SIGTERM');
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupted);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      timers.forEach(clearTimeout);
      for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, interrupted);
      if (isLate) return resolve('ended');
      resolve(code === 0 ? 'passed' : 'failed');
    });
  });
}
