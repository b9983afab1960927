// Entry of `npm run setup`: packages, nats-server and build, and not a word when there is nothing to do.
import { nodeProblem } from './node-version.mjs';

var problem = nodeProblem(process.versions.node);
if (problem === '') {
  void import('./prepare.mjs').then((program) => {
    program.setUp(process.env);
  });
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
