import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { projectRoot } from '../../infra/root.ts';
import { commitOf } from '../perf/results.ts';

/** The last run of a long test; null until there was one. */
interface LongRun {
  readonly atIso: string | null;
  readonly commit: string | null;
  readonly node: string | null;
  readonly seconds: number | null;
  readonly result: 'passed' | 'failed' | 'skipped' | null;
}

const PATH = join(projectRoot, 'bench/results/long-tests.json');

/** Writes date, commit, version of Node, seconds and result of each long test that ran; those that did not run keep their last ones. */
export default class LongResults implements Reporter {
  // Taken before the first result changes the tree.
  readonly #commit = commitOf();
  /** True if files run as a whole, and not only some of their tests. */
  #isWhole = true;

  onInit({ config }: Vitest): void {
    this.#isWhole = config.testNamePattern === undefined;
  }

  // After each file, so an interrupted run keeps its results.
  onTestModuleEnd(module: TestModule): void {
    const file = relative(projectRoot, module.moduleId);
    const result = module.state();
    if (!this.#isWhole || !file.endsWith('.long.test.ts') || result === 'pending' || result === 'queued')
      return;
    const { collectDuration, duration } = module.diagnostic();
    const run: LongRun = {
      atIso: new Date().toISOString(),
      commit: this.#commit,
      node: process.version,
      seconds: Math.round((collectDuration + duration) / 1_000),
      result,
    };
    const known = JSON.parse(readFileSync(PATH, 'utf8')) as { readonly files: Record<string, LongRun> };
    const files = Object.entries({ ...known.files, [file]: run }).sort(([a], [b]) => (a < b ? -1 : 1));
    writeFileSync(PATH, `${JSON.stringify({ ...known, files: Object.fromEntries(files) }, undefined, 2)}\n`);
  }
}
