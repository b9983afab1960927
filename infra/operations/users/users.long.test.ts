import { testRights } from './testing/rights-in-use.ts';
import { testTiersInUse } from './testing/tiers-in-use.ts';

// Like `users.fault.test.ts`, on a cluster of three servers.
testRights(testTiersInUse(3), 3);
