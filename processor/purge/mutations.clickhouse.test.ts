import { testMutations } from './testing/mutation-texts.ts';

// A single server; `mutations.long.test.ts` has replicas. More events are outside of visits than keys are in memory at a time.
testMutations({ database: 'mutations', replicas: undefined, personEvents: 22_000, cuts: [9] });
