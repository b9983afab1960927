import { defineConfig } from 'vitest/config';

// The suffix of a test file says what the test needs; each project adds the time that such a need takes.
// One project runs after the other: they share two cores, of which vitest by itself would use one.
// `unit` needs nothing; `nats` a real nats-server; `clickhouse` a real store; `fault` real processes to kill.
const servers = { globalSetup: ['infra/testing/built.ts'], pool: 'forks' as const };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          include: ['{infra,ingest,processor,query,bench}/**/*.test.ts'],
          exclude: ['**/*.{nats,clickhouse,fault}.test.ts'],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'nats',
          maxWorkers: 2,
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
          exclude: ['node_modules/**', 'dist/**'],
          testTimeout: 240_000,
          hookTimeout: 180_000,
          ...servers,
          // Each starts a whole service and loads it: two at a time take twice as long each, and count what is late.
          fileParallelism: false,
        },
      },
    ],
  },
});
