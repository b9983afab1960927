import { expect, test } from 'vitest';
import { ManualClock } from '../../infra/clock.ts';
import { KNOWN_BROWSER_MAX_MS, KnownBrowsers } from './known-browsers.ts';
import type { User } from './user-record.ts';

const NOW_MS = Date.UTC(2026, 2, 1);
const ADA: User = {
  id: '3b1f6c52-94a7-4f0e-8d35-6a2c9be0417d',
  teamId: 'team',
  name: 'Ada',
  email: 'ada@shop.example',
  role: 'root',
  sites: [],
  passphraseHash: `scrypt-n32768-r8-p1:${'ab'.repeat(16)}:${'cd'.repeat(32)}`,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};
const BOB: User = { ...ADA, id: '4c2f6c52-94a7-4f0e-8d35-6a2c9be0417d' };

test.each(['', '0123456789abcdef'.repeat(4)])(
  'a cookie is of its user, its passphrase and its key: %j',
  (secretsKey) => {
    const clock = new ManualClock(NOW_MS);
    const browsers = new KnownBrowsers({ secretsKey, clock });
    const cookie = browsers.cookieOf(ADA);
    expect(browsers.claimedId(cookie)).toBe(ADA.id);
    expect(browsers.isOf(ADA, cookie)).toBe(true);
    expect(browsers.isOf(BOB, cookie)).toBe(false);
    expect(browsers.isOf(BOB, cookie.replace(ADA.id, BOB.id))).toBe(false);
    expect(browsers.isOf({ ...ADA, passphraseHash: ADA.passphraseHash.replace('cd', 'ce') }, cookie)).toBe(
      false,
    );
    expect(new KnownBrowsers({ secretsKey: 'ff'.repeat(32), clock }).isOf(ADA, cookie)).toBe(false);
    for (const wrong of ['', 'x', `${ADA.id}.1.${'A'.repeat(43)}`, `${cookie}=`, cookie.toUpperCase()])
      expect([wrong, browsers.isOf(ADA, wrong)]).toEqual([wrong, false]);
    clock.advance(KNOWN_BROWSER_MAX_MS - 1);
    expect(browsers.isOf(ADA, cookie)).toBe(true);
    clock.advance(1);
    expect(browsers.isOf(ADA, cookie)).toBe(false);
  },
);
