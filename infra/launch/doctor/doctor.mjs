// Entry point of `npm run doctor`. It needs no packages, since it also says why they cannot be installed or started.
import { nodeProblem, thisMachine } from '../node-version.mjs';

var problem = nodeProblem(thisMachine());
if (problem === '') {
  void import('./examination.mjs').then((program) => program.runDoctor(process.env));
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
