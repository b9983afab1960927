import type { Config } from '../../config.ts';
import { launchEnvironment, readLaunchSettings } from '../launch-settings.ts';
import { Problem } from '../problem.mjs';
import { createTerminal, wantsColor } from '../terminal.mjs';
import { type Finding, findingLine } from './findings.mjs';
import { examineDisk, examineFolder } from './folder-checks.ts';
import { examineMachine, machineFacts } from './machine-checks.mjs';
import { examineOutsideBus, examineOutsideStore } from './outside-checks.ts';
import { examineService } from './service-checks.ts';

/**
 * Looks at everything that a start needs and a running service depends on. Changes nothing but one file in the data folder, which it
 * removes again. Calls `show` with each finding as soon as it is known. Returns true if there is no problem.
 */
export async function examine(env: NodeJS.ProcessEnv, show: (finding: Finding) => void): Promise<boolean> {
  let isWell = true;
  const add = (findings: readonly Finding[]) => {
    for (const finding of findings) {
      isWell &&= finding.state !== 'problem';
      show(finding);
    }
  };
  add([{ name: 'node', state: 'good', text: process.versions.node }]);
  const settings = settingsOf(env, add);
  if (settings === undefined) return false;
  add(examineMachine(machineFacts(), { isSmall: settings.SMALL === 1 }));
  const folder = examineFolder(settings.DATA_DIR);
  add(folder.findings);
  if (folder.isThere) add(examineDisk(settings));
  add(await examineOutsideBus(settings.NATS_URL, settings.BUS_REPLICAS));
  add(await examineOutsideStore(settings.CLICKHOUSE_URL));
  add(await examineService(settings));
  return isWell;
}

/** Entry point of the program: prints its findings, and exits with 1 if there is a problem. */
export async function runDoctor(env: NodeJS.ProcessEnv): Promise<void> {
  const terminal = createTerminal(process.stdout, { color: wantsColor(process.stdout, env) });
  let advice = 0;
  const isWell = await examine(env, (finding) => {
    if (finding.state === 'advice') advice += 1;
    terminal.line(findingLine(finding));
  });
  if (!isWell) process.exitCode = 1;
  else
    terminal.line(
      advice === 0 ? 'Everything is as it should be.' : 'It works. The lines with ! are worth a change.',
    );
}

function settingsOf(env: NodeJS.ProcessEnv, add: (findings: readonly Finding[]) => void): Config | undefined {
  try {
    return readLaunchSettings(launchEnvironment(env));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    add([{ name: 'settings', state: 'problem', text: error.message }]);
    return undefined;
  }
}
