import { defineConfig } from 'vitest/config';

// The suffix of a test file says what the test needs; each project adds the time that such a need takes.
// One project runs after the other: they share two cores.
// `unit` needs nothing; `nats` a real nats-server; `clickhouse` a real store; `fault` real processes to kill. Those of them
// that drive a browser, whose pages tell by the clock what stays and what passes, are `browser`: nothing runs beside them.
const inBrowser = [
  'ingest/tracker/*.fault.test.ts',
  'bench/{drop-in-browser,documentation-page}.fault.test.ts',
];
const servers = { globalSetup: ['infra/testing/built.ts'], pool: 'forks' as const };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          sequence: { groupOrder: 0 },
          include: ['{infra,ingest,processor,query,bench}/**/*.test.ts'],
          exclude: ['**/*.{nats,clickhouse,fault}.test.ts'],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'nats',
          sequence: { groupOrder: 1 },
          include: ['**/*.nats.test.ts'],
          exclude: ['node_modules/**', 'dist/**'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          ...servers,
        },
      },
      {
        test: {
          name: 'clickhouse',
          // Two at a time take three quarters of what one after the other takes.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          include: ['**/*.clickhouse.test.ts'],
          exclude: ['node_modules/**', 'dist/**'],
          testTimeout: 240_000,
          hookTimeout: 180_000,
          ...servers,
        },
      },
      {
        test: {
          name: 'fault',
          sequence: { groupOrder: 3 },
          include: ['**/*.fault.test.ts'],
          exclude: ['node_modules/**', 'dist/**', ...inBrowser],
          testTimeout: 240_000,
          hookTimeout: 180_000,
          // Much of a fault test is waiting.
          maxWorkers: 2,
          ...servers,
        },
      },
      {
        test: {
          name: 'browser',
          sequence: { groupOrder: 4 },
          include: inBrowser,
          testTimeout: 240_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          ...servers,
        },
      },
    ],
  },
});
