// Entry point of `npm run setup`: packages, build and nats-server. Prints nothing when there is nothing to do.
import { nodeProblem, thisMachine } from './node-version.mjs';

var problem = nodeProblem(thisMachine());
if (problem === '') {
  void import('./prepare.mjs').then((program) => program.setUp(process.env));
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
