import { spawn } from 'node:child_process';

// `npm run conformance`: whether a ClickHouse server does what footfall needs of one. CLICKHOUSE_URL names it, with a user that
// may create and drop databases; without it, the embedded store is tested. Everything happens in databases named
// `footfall_conformance_…` and `conformance_…`, which are dropped.

/** The tests that are run, by what they show. */
const PARTS = {
  'the HTTP interface': ['infra/store/store-conformance'],
  'the schema, applied once': ['infra/store/migrate.clickhouse'],
  'inserts that happen once': ['infra/store/insert-once'],
  rollups: ['processor/rollups/rollup.clickhouse'],
  'backups and restores': ['processor/backups/instant.clickhouse'],
  'deletions and erasures': ['processor/purge/purger.clickhouse'],
  'history and hot rows together': ['query/snapshot/seam.clickhouse'],
  questions: [
    'query/insights/metrics.clickhouse',
    'query/insights/breakdown.clickhouse',
    'query/insights/active-users.clickhouse',
    'query/paths/funnel.clickhouse',
    'query/paths/user-flow.clickhouse',
  ],
  exports: ['query/export/streams.clickhouse', 'query/export/charts.clickhouse'],
};
const AS_OLDER = '--as-24.8';

const given = process.argv.slice(2);
const asOlder = given.includes(AS_OLDER);
const only = given.filter((argument) => argument !== AS_OLDER);
const address = process.env.CLICKHOUSE_URL ?? '';
if (asOlder && address !== '')
  fail(`${AS_OLDER} stands in front of the embedded store: unset CLICKHOUSE_URL`);

const server = asOlder ? 'the embedded store as ClickHouse 24.8' : await nameOfServer(address);
process.stdout.write(`conformance: ${server}\n`);
for (const part of Object.keys(PARTS)) process.stdout.write(`  ${part}\n`);
const files = only.length > 0 ? only : Object.values(PARTS).flat();
const child = spawn(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--project', 'clickhouse', ...files],
  {
    stdio: 'inherit',
    env: { ...process.env, ...(asOlder ? { CONFORMANCE_AS: '24.8' } : {}) },
  },
);
child.on('exit', (code) => {
  process.stdout.write(`conformance: ${server} ${code === 0 ? 'conforms' : 'does not conform, see above'}\n`);
  process.exit(code ?? 1);
});

/** @param {string} text */
async function nameOfServer(text) {
  if (text === '') return 'the embedded store';
  const url = new URL(text);
  const login = Buffer.from(
    `${decodeURIComponent(url.username) || 'default'}:${decodeURIComponent(url.password)}`,
  ).toString('base64');
  url.username = '';
  url.password = '';
  url.searchParams.set('query', 'SELECT version()');
  try {
    const answer = await fetch(url, { headers: { authorization: `Basic ${login}` } });
    const said = (await answer.text()).trim();
    if (answer.ok) return `ClickHouse ${said} at ${url.host}`;
    return fail(`${url.host} answers ${answer.status}: ${said.slice(0, 200)}`);
  } catch {
    return fail(`no ClickHouse answers at ${url.host}`);
  }
}

/**
 * @param {string} why
 * @returns {never}
 */
function fail(why) {
  process.stderr.write(`conformance: ${why}\n`);
  process.exit(2);
}
