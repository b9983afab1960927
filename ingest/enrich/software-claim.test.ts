import { describe, expect, test } from 'vitest';
import { READ_AGENTS } from '../testing/user-agents.ts';
import { claimedSoftware, NO_SOFTWARE_CLAIM, type SoftwareClaim, softwareClaimOf } from './software-claim.ts';
import { isVisitorAgent, type Software, softwareOf } from './user-agent.ts';
import { deviceKindOf } from './user-agent-device.ts';
import { NO_CLIENT_HINTS } from './user-agent-hints.ts';

const WINDOWS_CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36';
const DALVIK = 'Dalvik/2.1.0 (Linux; U; Android 12; Pixel 4 Build/SP2A.220505.002)';

function claimedOf(userAgent: string, claim: Partial<SoftwareClaim>): Software {
  return claimedSoftware(softwareOf(userAgent, NO_CLIENT_HINTS), softwareClaimOf(claim));
}

describe('an agent', () => {
  const isVisitor = (userAgent: string) => isVisitorAgent(userAgent, softwareOf(userAgent, NO_CLIENT_HINTS));

  test("that is labelled with a phone, a tablet, a television or a console is a visitor's", () => {
    const portable = READ_AGENTS.filter(({ expected }) =>
      ['mobile', 'tablet', 'tv', 'console'].includes(expected.device),
    );
    expect(portable.length).toBeGreaterThan(100);
    expect(portable.map(({ userAgent }) => userAgent).filter((each) => !isVisitor(each))).toEqual([]);
  });

  test('that is labelled as a server is none', () => {
    const servers = READ_AGENTS.filter(({ expected }) => expected.device === 'server');
    expect(servers.length).toBeGreaterThan(20);
    expect(servers.map(({ userAgent }) => userAgent).filter(isVisitor)).toEqual([]);
  });

  test.each([
    WINDOWS_CHROME,
    DALVIK,
    'okhttp/4.12.0',
    'MyShop/42 CFNetwork/1410.0.3 Darwin/22.6.0',
    'MyShop/1.0 (com.example.shop; build:7; macOS 14.4.1) Alamofire/5.9.0',
    'OpenPanel/1.0.1 (Version 17.4 (Build 21L227))',
    'Opera/9.80 (Windows NT 6.1; U; en) Presto/2.8.131 Version/11.11',
  ])("%s is a visitor's", (userAgent) => {
    expect(isVisitor(userAgent)).toBe(true);
  });

  test.each([
    '',
    'node',
    'my-backend/1.0',
    'MyService/2.0 (Linux x86_64)',
    'Dart/3.2 (dart:io)',
    'ktor-client',
  ])('%j is none', (userAgent) => {
    expect(isVisitor(userAgent)).toBe(false);
  });
});

describe('what a sender says of its device', () => {
  test('stands in for an agent that says nothing', () => {
    const claim = {
      os: 'iOS',
      osVersion: '17.2',
      brand: 'Apple',
      model: 'iPhone 15',
      device: 'mobile',
      browser: 'MyShop',
      browserVersion: '3.1',
    } as const;
    expect(claimedOf('MyShop/3.1', claim)).toEqual(claim);
    expect(claimedOf('node', claim)).toEqual(claim);
    expect(claimedOf('', claim)).toEqual(claim);
  });

  test('overrides the agent, field by field', () => {
    expect(claimedOf(DALVIK, { osVersion: '13', brand: 'google', model: 'Pixel 4a' })).toEqual({
      browser: '',
      browserVersion: '',
      os: 'Android',
      osVersion: '13',
      device: 'mobile',
      brand: 'google',
      model: 'Pixel 4a',
    });
    expect(claimedOf(WINDOWS_CHROME, { browser: 'Shop Desktop' })).toMatchObject({
      browser: 'Shop Desktop',
      browserVersion: '',
      os: 'Windows',
      osVersion: '10',
      device: 'desktop',
    });
    expect(claimedOf(WINDOWS_CHROME, { browser: 'Chrome' }).browserVersion).toBe('124.0');
  });

  test('takes nothing of another system from the agent', () => {
    expect(claimedOf(WINDOWS_CHROME, { os: 'Android' })).toEqual({
      browser: 'Chrome',
      browserVersion: '124.0',
      os: 'Android',
      osVersion: '',
      device: 'mobile',
      brand: '',
      model: '',
    });
  });

  test.each<[Partial<SoftwareClaim>, Partial<Software>]>([
    [{ os: 'iOS' }, { os: 'iOS', device: 'mobile', brand: 'Apple', model: '' }],
    [{ os: 'ios' }, { os: 'iOS' }],
    [{ os: 'ANDROID' }, { os: 'Android', device: 'mobile' }],
    [{ os: 'iPadOS' }, { os: 'iPadOS', device: 'tablet', brand: 'Apple' }],
    [
      { os: 'iOS', model: 'iPad13,1' },
      { device: 'tablet', brand: 'Apple', model: 'iPad13,1' },
    ],
    [
      { os: 'iOS', model: 'iPhone15,2' },
      { device: 'mobile', brand: 'Apple', model: 'iPhone15,2' },
    ],
    [
      { os: 'Android', model: 'SM-S918B' },
      { device: 'mobile', brand: 'Samsung', model: 'SM-S918B' },
    ],
    [
      { os: 'Android', model: 'SM-T870' },
      { device: 'tablet', brand: 'Samsung' },
    ],
    [{ os: 'tvOS' }, { os: 'tvOS', device: 'tv', brand: 'Apple' }],
    [{ os: 'watchOS' }, { os: 'watchOS', device: 'mobile', brand: 'Apple' }],
    [{ os: 'macOS' }, { os: 'macOS', device: 'desktop', brand: 'Apple' }],
    [{ os: 'Windows' }, { os: 'Windows', device: 'desktop', brand: '' }],
    [{ os: 'PlayStation' }, { os: 'PlayStation', device: 'console', brand: 'Sony' }],
    [{ os: 'webOS' }, { os: 'webOS', device: 'tv' }],
    [{ os: 'MyOS' }, { os: 'MyOS', device: '', brand: '' }],
    [{ device: 'tv' }, { os: '', device: 'tv' }],
    [{ device: 'console' }, { device: 'console' }],
    [{ model: 'Pixel 8' }, { os: '', device: '', brand: 'Google', model: 'Pixel 8' }],
  ])('of %j, the rest follows', (claim, software) => {
    expect(claimedOf('MyShop/3.1', claim)).toMatchObject(software);
  });

  test('is cut and cleaned, so that every field is short and can be stored', () => {
    const claim = softwareClaimOf({ os: `A\u0007${'x'.repeat(80)}`, model: '\n' });
    expect(claim.os).toBe(`A${'x'.repeat(63)}`);
    expect(claim.model).toBe('');
    expect(softwareClaimOf({})).toBe(NO_SOFTWARE_CLAIM);
  });

  test("without anything said, only a server's kind is no kind of a device", () => {
    expect(claimedOf(WINDOWS_CHROME, {})).toEqual(softwareOf(WINDOWS_CHROME, NO_CLIENT_HINTS));
    expect(claimedOf('node', {}).device).toBe('');
  });
});

test.each([
  ['Desktop', 'desktop'],
  ['phone', 'mobile'],
  ['smartphone', 'mobile'],
  ['SmartTV', 'tv'],
  ['wearable', 'mobile'],
  ['server', 'server'],
  ['fridge', undefined],
  ['constructor', undefined],
])('%s is the device kind %s', (text, kind) => {
  expect(deviceKindOf(text)).toBe(kind);
});
