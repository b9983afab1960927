import { testRights } from './testing/rights-in-use.ts';
import { testTiersInUse } from './testing/tiers-in-use.ts';

// One server; `users.long.test.ts` has three.
testRights(testTiersInUse(1), 1);
