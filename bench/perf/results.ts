import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';

/** What a benchmark found. */
export interface Finding {
  readonly name: string;
  /** The settings that the figures depend on. */
  readonly config: Readonly<Record<string, string | number | boolean>>;
  /** Named numbers, units in the names. */
  readonly figures: Readonly<Record<string, number | readonly number[] | Readonly<Record<string, number>>>>;
  /** Figures with two names each, by title, row and column. */
  readonly tables?: Readonly<Record<string, Table>>;
  /** `invalid`: something went wrong, so the figures say nothing. */
  readonly verdict: 'reached' | 'missed' | 'invalid';
  readonly reasons: readonly string[];
}

/** Numbers by row and column; a row may lack columns. */
export type Table = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Prints a finding and writes it to `bench/results/<name>.json`; the finding of a tiny run is not written. */
export function report(finding: Finding, isTrial: boolean): void {
  const lines = [
    ...Object.entries(finding.config).map(([name, value]) => `  ${name.padEnd(34)} ${value}`),
    ...Object.entries(finding.figures).flatMap(([name, value]) => linesOf(name, value)),
    ...Object.entries(finding.tables ?? {}).flatMap(([title, table]) => [
      '',
      ...linesOfTable(title, table),
      '',
    ]),
    ...finding.reasons.map((reason) => `  ${reason}`),
  ];
  process.stdout.write(`${finding.name}: ${finding.verdict}\n${lines.join('\n')}\n`);
  if (isTrial) return;
  const folder = join(projectRoot, 'bench/results');
  mkdirSync(folder, { recursive: true });
  const result = { ...machine(), ...finding };
  writeFileSync(join(folder, `${finding.name}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
}

/** The median; of an even number of values, the lower middle one. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1] ?? 0;
}

/** The smallest value that is at least as large as this share of all values. */
export function percentile(values: readonly number[], share: number): number {
  const place = Math.max(0, Math.ceil(values.length * share) - 1);
  return values.toSorted((a, b) => a - b)[place] ?? 0;
}

/** How far the values lie apart, as a share of the median. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / median(values);
}

/** Three significant figures: more would claim what no run can know. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

function linesOf(name: string, value: Finding['figures'][string]): string[] {
  if (typeof value === 'number') return [`  ${name.padEnd(34)} ${value}`];
  if (Array.isArray(value)) return [`  ${name.padEnd(34)} ${value.join(' ')}`];
  return Object.entries(value).map(([part, figure]) => `  ${`${name} ${part}`.padEnd(34)} ${figure}`);
}

function linesOfTable(title: string, table: Table): string[] {
  const columns = [...new Set(Object.values(table).flatMap((row) => Object.keys(row)))];
  const head = `  ${title.padEnd(34)} ${columns.map((column) => column.padStart(11)).join('')}`;
  const rows = Object.entries(table).map(
    ([name, row]) =>
      `  ${name.padEnd(34)} ${columns.map((column) => String(row[column] ?? '').padStart(11)).join('')}`,
  );
  return [head, ...rows];
}

function machine(): Record<string, string | number> {
  return {
    commit: commitOf(),
    atIso: new Date().toISOString(),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    kernel: release(),
  };
}

/** The commit that was measured, marked when the tree differed from it. */
function commitOf(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: projectRoot, encoding: 'utf8' }).trim();
    const isClean = git('status', '--porcelain') === '';
    return git('rev-parse', '--short=12', 'HEAD') + (isClean ? '' : ' (with changes)');
  } catch {
    return 'unknown';
  }
}

/** The options that belong to a result; arguments of node do not, because they invalidate it. */
export function shown<Options extends { readonly nodeArguments: readonly string[] }>(
  options: Options,
): Omit<Options, 'nodeArguments'> {
  const { nodeArguments: _, ...rest } = options;
  return rest;
}
