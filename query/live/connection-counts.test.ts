import fc from 'fast-check';
import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { ConnectionCounts } from './connection-counts.ts';

const LIMITS = { processMax: 6, siteMax: 4, addressMax: 2 };

test('the addresses of one IPv6 network are one', () => {
  const counts = new ConnectionCounts(LIMITS);
  expect(counts.take(storedId('a'), '2001:db8::1')).toBeTypeOf('function');
  expect(counts.take(storedId('b'), '2001:db8::2')).toBeTypeOf('function');
  expect(counts.take(storedId('c'), '2001:db8:0:0:1::3')).toBe('address');
  expect(counts.take(storedId('c'), '2001:db8:0:1::3')).toBeTypeOf('function');
});

test('without a limit of addresses there is none', () => {
  const counts = new ConnectionCounts({ ...LIMITS, addressMax: 0 });
  for (let index = 0; index < 4; index += 1)
    expect(counts.take(storedId('a'), '1.2.3.4')).toBeTypeOf('function');
  expect(counts.take(storedId('a'), '1.2.3.4')).toBe('site');
});

test('what is open never exceeds a limit, and whatever is free can be taken', () => {
  const step = fc.record({
    site: fc.constantFrom('a', 'b', 'c'),
    address: fc.constantFrom('1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'),
    frees: fc.nat(9),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const counts = new ConnectionCounts(LIMITS);
      const open: { site: string; address: string; free: () => void }[] = [];
      for (const { site, address, frees } of steps) {
        const [left] = frees < 4 ? open.splice(frees % Math.max(1, open.length), 1) : [];
        left?.free();
        // A second call frees nothing more.
        left?.free();
        const full =
          (open.filter((one) => one.address === address).length >= LIMITS.addressMax && 'address') ||
          (open.filter((one) => one.site === site).length >= LIMITS.siteMax && 'site') ||
          (open.length >= LIMITS.processMax && 'process');
        const taken = counts.take(storedId(site), address);
        if (typeof taken === 'function') open.push({ site, address, free: taken });
        expect(typeof taken === 'function' ? false : taken).toBe(full);
      }
    }),
  );
});
