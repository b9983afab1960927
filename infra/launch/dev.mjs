// Entry point of `npm run dev`: the whole service from source, built and restarted after each change. Arguments behind `--` go to `npm start`.
import { nodeProblem, thisMachine } from './node-version.mjs';

var problem = nodeProblem(thisMachine());
if (problem === '') {
  void import('./prepare.mjs').then((program) => program.develop(process.argv.slice(2)));
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
