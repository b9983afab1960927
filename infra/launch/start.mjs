// Entry point of `npm start`. Everything that needs a recent Node is loaded after the check.
import { nodeProblem, thisMachine } from './node-version.mjs';

var problem = nodeProblem(thisMachine());
if (problem === '') {
  void import('./prepare.mjs').then((program) => program.start(process.env, process.argv.slice(2)));
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
