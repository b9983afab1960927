import { defineConfig } from 'vitest/config';

// The suffix of a test file says what the test needs; each project adds the time that such a need takes.
// `unit` needs nothing; `nats` a real nats-server; `clickhouse` a real store; `fault` real processes to kill.
const servers = { globalSetup: ['infra/testing/built.ts'], pool: 'forks' as const };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{infra,ingest,processor,query,bench}/**/*.test.ts'],
          exclude: ['**/*.{nats,clickhouse,fault}.test.ts'],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'nats',
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
          include: ['**/*.clickhouse.test.ts'],
          exclude: ['node_modules/**', 'dist/**'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          ...servers,
        },
      },
      {
        test: {
          name: 'fault',
          include: ['**/*.fault.test.ts'],
          exclude: ['node_modules/**', 'dist/**'],
          testTimeout: 240_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          ...servers,
        },
      },
    ],
  },
});
