import { Problem } from '../problem.mjs';
import { readLaunchSettings } from '../settings.mjs';
import { createTerminal, NAME_WIDTH, wantsColor } from '../terminal.mjs';
import { examineDisk, examineFolder } from './folder-checks.mjs';
import { examineMachine, machineFacts } from './machine-checks.mjs';
import { examineOutsideBus, examineOutsideStore } from './outside-checks.mjs';
import { examineService } from './service-checks.mjs';

/**
 * One thing that was looked at. `problem`: the service does not start or does not work. `advice`: it works, and something is
 * worth a change.
 * @typedef {{ readonly name: string, readonly state: 'good' | 'advice' | 'problem', readonly text: string }} Finding
 */

const MARKS = { good: ' ', advice: '!', problem: '✗' };

/**
 * Looks at everything that a start needs and a running service depends on. Changes nothing but one file in the data folder, which it
 * removes again.
 * @param {NodeJS.ProcessEnv} env
 * @param {(finding: Finding) => void} show called for each finding as soon as it is known
 * @returns {Promise<boolean>} whether there is no problem
 */
export async function examine(env, show) {
  let isWell = true;
  const add = (/** @type {readonly Finding[]} */ findings) => {
    for (const finding of findings) {
      isWell &&= finding.state !== 'problem';
      show(finding);
    }
  };
  add([{ name: 'node', state: 'good', text: process.versions.node }]);
  const settings = settingsOf(env, add);
  if (settings === undefined) return false;
  add(examineMachine(machineFacts(), settings));
  const folder = examineFolder(settings.dataDir);
  add(folder.findings);
  if (folder.isThere) add(examineDisk(settings));
  add(await examineOutsideBus(settings.natsUrl, Number(env.BUS_REPLICAS) || 1));
  add(await examineOutsideStore(settings.clickhouseUrl));
  add(await examineService(settings, env));
  return isWell;
}

/**
 * Entry point of the program: prints its findings, and exits with 1 if there is a problem.
 * @param {NodeJS.ProcessEnv} env
 */
export async function runDoctor(env) {
  const terminal = createTerminal(process.stdout, { color: wantsColor(process.stdout, env) });
  let advice = 0;
  const isWell = await examine(env, ({ name, state, text }) => {
    if (state === 'advice') advice += 1;
    terminal.line(`${MARKS[state]} ${name.padEnd(NAME_WIDTH)}${text}`);
  });
  if (!isWell) process.exitCode = 1;
  else
    terminal.line(
      advice === 0 ? 'Everything is as it should be.' : 'It works. The lines with ! are worth a change.',
    );
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {(findings: readonly Finding[]) => void} add
 */
function settingsOf(env, add) {
  try {
    return readLaunchSettings(env);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    add([{ name: 'settings', state: 'problem', text: error.message }]);
    return undefined;
  }
}
