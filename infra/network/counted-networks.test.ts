import { expect, test } from 'vitest';
import { COUNTED_NETWORKS_MAX, countedNetworks } from './counted-networks.ts';

test.each([
  ['203.0.113.7', ['203.0.113.7', '203.0.113.0/24']],
  ['2001:db8:1:1234::5', ['2001:db8:1:1234::/64', '2001:db8:1:1200::/56', '2001:db8:1::/48']],
  ['2001:db8::5', ['2001:db8:0:0::/64', '2001:db8:0:0::/56', '2001:db8:0::/48']],
  ['::1', ['0:0:0:0::/64', '0:0:0:0::/56', '0:0:0::/48']],
  ['', ['']],
])('%s counts for its networks, the narrowest first', (address, names) => {
  const networks = countedNetworks(address);
  expect(networks.map(({ name }) => name)).toEqual(names);
  expect(networks.length).toBeLessThanOrEqual(COUNTED_NETWORKS_MAX);
  const times = networks.map((network) => network.times);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times[0]).toBe(1);
});
