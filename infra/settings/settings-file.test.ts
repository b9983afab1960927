import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, givenSettings, NO_SETTINGS_FILE, readConfig, SETTINGS } from '../config.ts';
import { launchEnvironment, readLaunchSettings } from '../launch/launch-settings.ts';

let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-settings-'));
  path = join(folder, 'footfall.conf');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The settings of a file with this text, in the folder of the project. */
function given(text: string, env: Readonly<Record<string, string>> = {}) {
  writeFileSync(path, text);
  return givenSettings(env, folder).env;
}

describe('a settings file', () => {
  test.each([
    ['a value', 'PORT=8080', { PORT: '8080' }],
    ['spaces around everything', '  PORT =\t8080  ', { PORT: '8080' }],
    ['lines that end like on Windows', 'PORT=8080\r\nHOST=::1\r\n', { PORT: '8080', HOST: '::1' }],
    ['a byte order mark', '\uFEFFPORT=8080', { PORT: '8080' }],
    ['comments and empty lines', '# PORT=1\n\n  # HOST=x\n \t\nPORT=8080\n', { PORT: '8080' }],
    ['a comment behind a value', 'PORT=8080 # the usual one', { PORT: '8080' }],
    ['a # inside a value', 'BASE_URL=https://a.example/#b', { BASE_URL: 'https://a.example/#b' }],
    ['double quotes', 'NATS_URL="nats://u:a # b@h"', { NATS_URL: 'nats://u:a # b@h' }],
    ['single quotes', `STORE_PASSWORD=' a"b ' # why`, { STORE_PASSWORD: ' a"b ' }],
    ['a quote inside a value', `STORE_PASSWORD=a"b'c`, { STORE_PASSWORD: `a"b'c` }],
    ['a value with =', 'NATS_URL=nats://u:p=q@h', { NATS_URL: 'nats://u:p=q@h' }],
    [
      'no value, which is the default',
      'PORT=\nHOST=""\nLOG_LEVEL= # later',
      { PORT: '', HOST: '', LOG_LEVEL: '' },
    ],
    ['nothing', '', {}],
  ])('has %s', (_name, text, settings) => {
    expect(given(text)).toEqual(settings);
  });

  test.each([
    ['an unknown name', 'PORT=1\n\nPROT=2', 'line 3: PROT is not a setting (infra/README.md lists them)'],
    ['the name of a property of every object', 'constructor=1', 'line 1: constructor is not a setting'],
    ['its own name', 'FOOTFALL_CONF=other', 'line 1: FOOTFALL_CONF is not a setting'],
    [
      'a bad value',
      'HOST=::1\nPORT=abc',
      'line 2: PORT: "abc" is not a whole number from 0 to 65535 (port of',
    ],
    ['a name twice', 'PORT=1\nHOST=::1\nPORT=1', 'line 3: PORT is in line 1, too'],
    ['an open quote', 'HOST="::1', 'line 1: HOST: the quotes do not enclose the value'],
    ['text behind a quote', 'HOST="::1"0', 'line 1: HOST: the quotes do not enclose the value'],
    ['a line without =', '\r\nexport PORT', 'line 2: expected NAME=value'],
    ['a command of a shell', 'export PORT=1', 'line 1: expected NAME=value'],
  ])('with %s names file and line', (_name, text, message) => {
    expect(() => given(text)).toThrow(ConfigError);
    expect(() => given(text)).toThrow(`${path}, ${message}`);
  });

  test('never shows the value of a secret', () => {
    expect(() => given('SECRETS_KEY=abcdef')).toThrow(
      /^(?!.*abcdef).* SECRETS_KEY: expected 64 hexadecimal digits/,
    );
  });

  test('takes every setting with its default', () => {
    const { FOOTFALL_CONF: _, ...others } = SETTINGS;
    const text = Object.entries(others).map(([name, setting]) => `${name}='${setting.default}'\n`);
    expect(readConfig(given(text.join('')))).toEqual(readConfig({}));
  });

  test('gives way to the environment, also to an empty variable', () => {
    const env = given('PORT=1\nHOST=::1\nQUERIES=2', { PORT: '2', HOST: '' });
    expect(readConfig(env)).toMatchObject({ PORT: 2, HOST: '127.0.0.1', QUERIES: 2 });
  });

  test('may be missing, unless FOOTFALL_CONF names it', () => {
    expect(givenSettings({ PORT: '1' }, folder).env).toEqual({ PORT: '1' });
    const FOOTFALL_CONF = 'other.conf';
    expect(() => givenSettings({ FOOTFALL_CONF }, folder)).toThrow(
      `FOOTFALL_CONF: ${join(folder, FOOTFALL_CONF)} does not exist`,
    );
    writeFileSync(join(folder, FOOTFALL_CONF), 'PORT=8080');
    expect(givenSettings({ FOOTFALL_CONF }, folder).env).toEqual({ FOOTFALL_CONF, PORT: '8080' });
    expect(givenSettings({ FOOTFALL_CONF: NO_SETTINGS_FILE }, folder).places.size).toBe(0);
  });

  test('that cannot be read is an error', () => {
    expect(() => givenSettings({ FOOTFALL_CONF: folder })).toThrow(`${folder} cannot be read (EISDIR)`);
  });

  test('is named by the checks of a start, too', () => {
    writeFileSync(path, '# the bus\nNATS_URL=host:4222');
    expect(() => readLaunchSettings(launchEnvironment({ FOOTFALL_CONF: path }))).toThrow(
      `${path}, line 2: NATS_URL is not a valid URL such as nats://`,
    );
  });
});
