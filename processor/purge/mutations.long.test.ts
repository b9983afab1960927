import { testMutations } from './testing/mutation-texts.ts';

// Like `mutations.clickhouse.test.ts`, for two replicas, one of them behind.
testMutations({ database: 'mutations_replicas', replicas: {}, personEvents: 3_000, cuts: [5] });
