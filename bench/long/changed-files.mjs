import { execFileSync } from 'node:child_process';

/** The branches that a change may have left, the likeliest first. */
const BRANCHES = ['origin/HEAD', 'origin/main', 'origin/master', 'main', 'master'];

/**
 * The files that HEAD changes: since it left a main branch, or, where it is one, since its first parent.
 * @param {string} folder the top folder of the repository
 * @returns {{ base: string, files: string[] } | { unknown: string }}
 */
export function changedFiles(folder) {
  /** @param {string[]} args */
  const git = (...args) => {
    try {
      return execFileSync('git', args, {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    } catch {
      return undefined;
    }
  };
  const head = git('rev-parse', '--verify', '--quiet', 'HEAD^{commit}')?.trim();
  if (head === undefined) return { unknown: 'this is no checkout of a commit' };
  for (const branch of BRANCHES) {
    const base = git('merge-base', 'HEAD', branch)?.trim();
    if (base !== undefined && base !== head) return since(base, `HEAD left ${branch}`);
  }
  const parent = git('rev-parse', '--verify', '--quiet', 'HEAD^1^{commit}')?.trim();
  if (parent !== undefined) return since(parent, 'its first parent');
  const isShallow = git('rev-parse', '--is-shallow-repository')?.trim() === 'true';
  return {
    unknown: isShallow ? 'the checkout is shallow, without the parent of HEAD' : 'HEAD has no parent',
  };

  /**
   * @param {string} base
   * @param {string} what
   */
  function since(base, what) {
    // With both names of a file that was renamed.
    const names = git('diff', '--name-only', '--no-renames', '-z', base, 'HEAD');
    if (names === undefined) return { unknown: `git cannot compare HEAD with ${base.slice(0, 12)}` };
    return {
      base: `${what} (${base.slice(0, 12)})`,
      files: names.split('\0').filter((name) => name !== ''),
    };
  }
}
