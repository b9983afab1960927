import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { changedFiles } from './changed-files.mjs';

// A machine needs only Node and npm to run the tests; where it lacks git, no long test is chosen.
const hasGit = spawnSync('git', ['--version']).status === 0;
let scratch = '';
let folder = '';

describe.skipIf(!hasGit)('the changed files', () => {
  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'footfall-changed-'));
    folder = join(scratch, 'tree');
    execFileSync('git', ['init', '--quiet', '--initial-branch=main', folder]);
    commit('first.ts');
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  test('on the main branch are those since the first parent', () => {
    const parent = commit('second.ts');
    commit('third.ts');
    expect(changedFiles(folder)).toEqual({ base: `its first parent (${parent})`, files: ['third.ts'] });
  });

  test('of another branch are what all its commits change, without what the main branch changes', () => {
    const base = commit('second.ts');
    git('switch', '--quiet', '--create', 'topic');
    commit('third.ts');
    commit('fourth.ts');
    git('switch', '--quiet', 'main');
    commit('fifth.ts');
    git('switch', '--quiet', 'topic');
    const files = ['fourth.ts', 'third.ts'];
    expect(changedFiles(folder)).toEqual({ base: `HEAD left main (${base})`, files });
  });

  test('have both names of a file that was renamed', () => {
    git('mv', 'first.ts', 'moved.ts');
    git('commit', '--quiet', '--message', 'moved');
    expect(changedFiles(folder)).toMatchObject({ files: ['first.ts', 'moved.ts'] });
  });

  test('are unknown where the parent is, with the reason', () => {
    expect(changedFiles(folder)).toEqual({ unknown: 'HEAD has no parent' });
    commit('second.ts');
    const shallow = join(scratch, 'shallow');
    execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${folder}`, shallow]);
    expect(changedFiles(shallow)).toEqual({
      unknown: 'the checkout is shallow, without the parent of HEAD',
    });
    expect(changedFiles(scratch)).toEqual({ unknown: 'this is no checkout of a commit' });
  });
});

function git(...args: string[]): string {
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', [...author, ...args], { cwd: folder, encoding: 'utf8' }).trim();
}

/** Commits a file with this name; returns the commit as it is shown. */
function commit(name: string): string {
  writeFileSync(join(folder, name), name);
  git('add', '.');
  git('commit', '--quiet', '--message', name);
  return git('rev-parse', 'HEAD').slice(0, 12);
}
