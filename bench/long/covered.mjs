/**
 * The long tests, and the folders of sources whose laws each repeats. A change in one of them, subfolders included, or in the test
 * itself makes `.ci/run` add the test after `npm test`. Folders that most tests use (`infra/http`, `bench/cluster`) are named only
 * where a long test shows more of them than `npm test` does.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const COVERED = {
  'bench/chaos/chaos.long.test.ts': ['bench/chaos', 'infra/bus', 'processor/consumer', 'processor/lane'],
  'bench/faults/backup-grown.long.test.ts': [
    'infra/object-store',
    'processor/backups',
    'query/manage/admin/whole',
  ],
  'bench/faults/backup-lanes.long.test.ts': ['processor/backups', 'query/manage/admin/whole'],
  'bench/faults/backup-shards.long.test.ts': ['processor/backups', 'query/manage/admin/whole'],
  'bench/faults/frozen-store.long.test.ts': ['infra/store', 'query/snapshot'],
  'bench/faults/fuzz.long.test.ts': ['ingest/http', 'ingest/request'],
  'bench/faults/growth.long.test.ts': ['ingest/collect', 'processor/layout'],
  'bench/faults/late-store.long.test.ts': ['processor/layout', 'processor/shares'],
  'bench/faults/midnight.long.test.ts': ['ingest/identity'],
  'bench/faults/shares.long.test.ts': ['processor/lane', 'processor/shares'],
  'bench/faults/small-machine.long.test.ts': ['infra/launch', 'infra/store-server'],
  'bench/faults/standby.long.test.ts': ['processor/lane', 'processor/shares'],
  'bench/faults/store-shards.long.test.ts': ['infra/store', 'processor/layout', 'processor/purge'],
  'bench/openapi/fuzz.long.test.ts': ['query/http', 'query/manage', 'query/openapi'],
  'bench/openapi/hostile/hostile.long.test.ts': [
    'bench/openapi/hostile',
    'infra/http',
    'ingest/http',
    'ingest/request',
    'query/http',
  ],
  'bench/perf/tiny.long.test.ts': ['bench/perf', 'bench/traffic'],
  'bench/readme/three-machines.long.test.ts': ['infra/bus', 'infra/launch'],
  'infra/operations/kubernetes/kubernetes.long.test.ts': ['infra/operations/kubernetes', 'infra/process'],
  'processor/purge/mutations.long.test.ts': ['processor/purge'],
  'infra/operations/users/users.long.test.ts': ['infra/operations/users'],
};
