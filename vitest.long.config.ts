import { defineConfig } from 'vitest/config';

// Runs of many random questions that take longer than the tests of every change may: `npm run test:long`.
export default defineConfig({
  test: {
    name: 'long',
    include: ['**/*.long.test.ts'],
    exclude: ['node_modules/**', 'dist/**'],
    testTimeout: 240_000,
    hookTimeout: 180_000,
    fileParallelism: false,
    globalSetup: ['infra/testing/built.ts'],
    pool: 'forks',
  },
});
