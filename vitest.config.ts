import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// The suffix of a test file says what the test needs; each project adds the time that such a need takes.
// `unit` needs nothing; `nats` a real nats-server; `clickhouse` a real store; `fault`, `fault-alone` and `long` real processes to kill.
const env = {
  // The settings of this machine's own service are not for tests.
  FOOTFALL_CONF: '/dev/null',
};
const servers = {
  env,
  globalSetup: ['infra/testing/built.ts'],
  pool: 'forks' as const,
  // Files of a worker share their modules: loading them anew for each file took half a second of a core.
  isolate: false,
  // Files of these projects run beside each other, so that no project ends with an idle core. Three at a time: while one waits for its
  // store, its clock or a limit to end, the others have the cores. Four took as long, and waited for each other's cores.
  maxWorkers: 3,
  sequence: { groupOrder: 1 },
  // A condition that is waited for: with two busy cores it may come late, and a deadline is no measure of speed. Looks may be statements,
  // which are planned for 20 ms and more.
  expect: { poll: { timeout: 60_000, interval: 100 } },
};

// Fault tests that need the whole machine: they measure what is late, or how much memory is used, or keep both cores busy.
const ALONE = [
  'bench/faults/fairness',
  'bench/faults/fuzz',
  'bench/faults/live',
  'bench/faults/seam',
  'bench/faults/strangers',
  'bench/openapi/fuzz',
  'bench/perf/neighbour',
].map((name) => `${name}.fault.test.ts`);

// Each of these files takes half a minute to three minutes. They start first, so that no long file runs last and leaves a core idle.
const LONG = [
  'bench/chaos/chaos.fault.test.ts',
  'bench/faults/processor-crash.fault.test.ts',
  'bench/faults/lanes.fault.test.ts',
  'infra/operations/users/users.fault.test.ts',
  'bench/dashboard/wall.fault.test.ts',
  'bench/faults/backup.fault.test.ts',
  'bench/faults/full-bucket.fault.test.ts',
  'bench/dashboard/every-view.fault.test.ts',
  'infra/launch/start.fault.test.ts',
  'bench/golden/golden.fault.test.ts',
  'processor/purge/purger.clickhouse.test.ts',
  'processor/purge/mutations.clickhouse.test.ts',
  'query/held-rows/small-sites.clickhouse.test.ts',
  'query/rollups/rollups.clickhouse.test.ts',
  'query/held-rows/recent-hours.clickhouse.test.ts',
  'query/export/streams.clickhouse.test.ts',
  'processor/lane/lane.clickhouse.test.ts',
  'query/rollups/filtered-parts.clickhouse.test.ts',
  'query/filters/filters.clickhouse.test.ts',
  'infra/bus/cluster.nats.test.ts',
  'query/manage/admin/commands.nats.test.ts',
  'query/manage/access.nats.test.ts',
  'query/http/conventions.nats.test.ts',
];

// Tests with random cases: `npm run test:long` runs them again, with more cases (infra/testing/thoroughness.ts).
const RANDOM = [
  'processor/lane/lane',
  'query/export/streams',
  'query/filters/filters',
  'query/held-rows/recent-hours',
  'query/held-rows/small-sites',
  'query/paths/finalized-funnels',
  'query/rollups/filtered-parts',
  'query/rollups/rollups',
].map((name) => `${name}.clickhouse.test.ts`);

/** Long files first, then one project after the other: a worker reads its modules anew when the project changes. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = LONG.indexOf(relative(this.ctx.config.root, moduleId));
      return place === -1 ? LONG.length + projects.indexOf(project) : place;
    };
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

for (const path of [...ALONE, ...LONG, ...RANDOM])
  if (!existsSync(path)) throw new Error(`${path} does not exist`);
const faults = { testTimeout: 480_000, hookTimeout: 240_000, ...servers };
const oneByOne = (groupOrder: number) => ({
  ...{ isolate: true, maxWorkers: 1, fileParallelism: false },
  sequence: { groupOrder },
});

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          name: 'unit',
          env,
          // Several files wait for limits of the HTTP library to end.
          maxWorkers: 3,
          isolate: false,
          sequence: { groupOrder: 0 },
          include: ['{infra,ingest,processor,query,bench}/**/*.test.ts'],
          exclude: ['**/*.{nats,clickhouse,fault,long}.test.ts'],
          // Only for a test that hangs: a machine with busy neighbours takes five times as long as a quiet one.
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'nats',
          include: ['**/*.nats.test.ts'],
          exclude: ['node_modules/**', 'dist/**'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          ...servers,
        },
      },
      {
        test: {
          name: 'clickhouse',
          include: ['**/*.clickhouse.test.ts'],
          exclude: ['node_modules/**', 'dist/**'],
          testTimeout: 480_000,
          hookTimeout: 240_000,
          ...servers,
          globalSetup: [...servers.globalSetup, 'infra/testing/outside-store.ts'],
        },
      },
      {
        test: {
          name: 'fault',
          include: ['**/*.fault.test.ts'],
          exclude: ['node_modules/**', 'dist/**', ...ALONE],
          ...faults,
        },
      },
      {
        test: {
          name: 'fault-alone',
          include: ALONE,
          ...faults,
          ...oneByOne(2),
        },
      },
      {
        // Not part of `npm test`: each file takes minutes, and repeats laws that `npm test` has tests of.
        test: {
          name: 'long',
          include: ['**/*.long.test.ts', ...RANDOM],
          exclude: ['node_modules/**', 'dist/**'],
          ...faults,
          ...oneByOne(3),
          env: { ...env, THOROUGHNESS: '4' },
          testTimeout: 1_200_000,
        },
      },
    ],
  },
});
