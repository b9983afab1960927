// Entry of `npm start`. Everything that needs a recent Node is loaded only after the check.
import { nodeProblem } from './node-version.mjs';

var problem = nodeProblem(process.versions.node);
if (problem === '') {
  void import('./run.mjs').then((program) => {
    program.run(process.env);
  });
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
