// Entry point of `npm run doctor`. It installs and builds nothing: without packages and build it examines only what needs neither.
import { nodeProblem, thisMachine } from '../node-version.mjs';

var problem = nodeProblem(thisMachine());
if (problem === '') {
  void import('../prepare.mjs').then(async ({ isPrepared, load }) => {
    if (isPrepared()) (await load('doctor/examination.js')).runDoctor(process.env);
    else (await import('./machine-checks.mjs')).showMachine(process.env);
  });
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
