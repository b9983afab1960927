import { expect, test } from 'vitest';
import { Cluster } from '../cluster/cluster.ts';

// The real processes without the launcher: access to metrics and details by settings and addresses.

const TOKEN = 'a-token-of-the-operator';

test('metrics and details of readiness are for the operator, in every process', async () => {
  await using cluster = await Cluster.start({
    hosts: { local: ['ingest'], keyed: ['ingest'], exposed: ['ingest'], proxied: ['ingest'] },
    processors: ['processor', 'keyed-processor'],
    withStore: true,
    env: {},
    envOf: {
      keyed: { OPERATIONS_TOKEN: TOKEN },
      exposed: { HOST: '0.0.0.0' },
      proxied: { TRUSTED_PROXIES: '127.0.0.1' },
      'keyed-processor': { OPERATIONS_TOKEN: TOKEN },
    },
  });
  const authorization = `Bearer ${TOKEN}`;
  const seen = async (base: string, headers: Record<string, string>) => {
    const metrics = await fetch(`${base}/metrics`, { headers });
    const ready = await fetch(`${base}/healthz/ready`, { headers });
    for (const answer of [metrics, ready])
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    const details = Object.keys((await ready.json()) as object).length - 1;
    return [metrics.status, details > 0];
  };
  const open = [200, true];
  const closed = [401, false];
  const expected: Readonly<Record<string, readonly [unknown, unknown, unknown]>> = {
    // Without anything, with the token, and passed on by a proxy.
    [cluster.url('local')]: [open, open, closed],
    [cluster.url('keyed')]: [closed, open, closed],
    [cluster.url('exposed')]: [closed, closed, closed],
    [cluster.url('proxied')]: [closed, closed, closed],
    [cluster.operationsUrl('processor')]: [open, open, closed],
    [cluster.operationsUrl('keyed-processor')]: [closed, open, closed],
  };
  for (const [base, answers] of Object.entries(expected))
    expect([
      base,
      [await seen(base, {}), await seen(base, { authorization }), await seen(base, { via: '1.1 proxy' })],
    ]).toEqual([base, answers]);
  const warnings = (name: string) =>
    cluster
      .process(name)
      .log()
      .split('\n')
      .filter((line) => line.includes('OPERATIONS_TOKEN is not set')).length;
  expect([warnings('local'), warnings('exposed'), warnings('proxied')]).toEqual([0, 1, 1]);
});
