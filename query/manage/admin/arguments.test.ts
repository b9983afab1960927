import { describe, expect, test } from 'vitest';
import { readArguments, UsageError } from './arguments.ts';

const nothing = {
  team: undefined,
  site: undefined,
  type: undefined,
  name: undefined,
  client: undefined,
  url: undefined,
  profile: undefined,
  unverified: false,
  replace: false,
  unsigned: false,
  events: false,
  json: false,
};

describe('a command line', () => {
  test.each([
    ['team list', { command: 'team list', value: '' }],
    ['team list --json', { command: 'team list', value: '', json: true }],
    ['team create Acme', { command: 'team create', value: 'Acme' }],
    ['site restore shop', { command: 'site restore', value: 'shop' }],
    ['site list --team=a', { command: 'site list', value: '', team: 'a' }],
    ['client list --team a --site b', { command: 'client list', value: '', team: 'a', site: 'b' }],
    [
      'client create --team a --type read --site b --name c',
      { command: 'client create', value: '', team: 'a', type: 'read', site: 'b', name: 'c' },
    ],
    ['--json client rotate x', { command: 'client rotate', value: 'x', json: true }],
    ['client delete x', { command: 'client delete', value: 'x' }],
    ['sign-in', { command: 'sign-in', value: '' }],
    [
      'sign-in --client c --team a --url https://stats.example',
      { command: 'sign-in', value: '', client: 'c', team: 'a', url: 'https://stats.example' },
    ],
    ['alias list --site a', { command: 'alias list', value: '', site: 'a' }],
    [
      'alias list --site a --profile p --unverified',
      { command: 'alias list', value: '', site: 'a', profile: 'p', unverified: true },
    ],
    ['alias undo x --site a', { command: 'alias undo', value: 'x', site: 'a' }],
    ['backup f.json', { command: 'backup', value: 'f.json' }],
    ['backup f --events', { command: 'backup', value: 'f', events: true }],
    ['restore --replace f.json', { command: 'restore', value: 'f.json', replace: true }],
  ])('%s is valid', (line, expected) => {
    expect(readArguments(line.split(' '))).toEqual({ ...nothing, ...expected });
  });

  test.each(['--help', '-h', 'team create --help', 'nonsense --help'])('%s asks for help', (line) => {
    expect(readArguments(line.split(' '))).toBe('help');
  });

  test.each([
    ['', 'missing command'],
    ['team', 'unknown command "team"'],
    ['teams list', 'unknown command "teams list"'],
    ['toString', 'unknown command "toString"'],
    ['team list now', 'team list does not take "now"'],
    ['team create', 'team create needs <name>'],
    ['team create My team', 'team create takes one <name>; put quotes around spaces'],
    ['sign-in ada', 'sign-in does not take "ada"'],
    ['sign-in --site a', 'sign-in does not take --site'],
    ['backup', 'backup needs <file>'],
    ['restore f --events', 'restore does not take --events'],
    ['backup f --replace', 'backup does not take --replace'],
    ['alias undo --site a', 'alias undo needs <alias>'],
    ['alias undo x --unverified', 'alias undo does not take --unverified'],
    ['team list --team a', 'team list does not take --team'],
    ['client list --team', "Option '--team <value>' argument missing"],
    ['client list --team --site a', "Option '--team' argument is ambiguous."],
    ['restore f --force', "Unknown option '--force'"],
  ])('%j is rejected', (line, message) => {
    const read = () => readArguments(line.split(' ').filter((word) => word !== ''));
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });
});
