import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';
import { UsageError } from '../cluster/options.ts';

/** Result of a benchmark. */
export interface Finding {
  readonly name: string;
  /** The settings that the figures depend on. */
  readonly config: Readonly<Record<string, string | number | boolean>>;
  /** Named numbers, units in the names. */
  readonly figures: Readonly<Record<string, number | readonly number[] | Readonly<Record<string, number>>>>;
  /** Figures with two names each, by title, row and column. */
  readonly tables?: Readonly<Record<string, Table>>;
  /** `invalid`: something went wrong, so the figures mean nothing. */
  readonly verdict: 'reached' | 'missed' | 'invalid';
  readonly reasons: readonly string[];
}

const RESULTS_FOLDER = join(projectRoot, 'bench/results');

/** Numbers by row and column; a row may lack columns. */
export type Table = Readonly<Record<string, TableRow>>;
export type TableRow = Readonly<Record<string, number>>;

/** Prints a finding and writes it to `bench/results/<file>.json`; without a name, as for a trial, it is not written. */
export function report(finding: Finding, file: string | undefined): void {
  process.stdout.write(textOf(finding));
  if (file === undefined) return;
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  const result = { ...machine(), ...finding };
  writeFileSync(join(RESULTS_FOLDER, `${file}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
}

/** Prints results that were written, all of them when none is named. */
export function showResults(names: readonly string[]): void {
  // The folder has results of another form, too: of the chaos run and of the long tests.
  const written = readdirSync(RESULTS_FOLDER).map((file) => file.replace(/\.json$/, ''));
  const results = new Map(written.map((name) => [name, readResult(name)] as const));
  const all = written.filter((name) => results.get(name)?.figures !== undefined);
  for (const name of names.length === 0 ? all : names) {
    const result = results.get(name);
    if (result === undefined || !all.includes(name))
      throw new UsageError(`no result ${name}; there are ${all.join(', ')}`);
    const { commit, atIso, node, cpu, cores } = result;
    process.stdout.write(`${name}: commit ${commit}, ${atIso}, node ${node}, ${cores} cores ${cpu}\n`);
    process.stdout.write(`${textOf(result)}\n`);
  }
}

function readResult(name: string): Finding & ReturnType<typeof machine> {
  return JSON.parse(readFileSync(join(RESULTS_FOLDER, `${name}.json`), 'utf8'));
}

function textOf({ name, verdict, config, figures, tables = {}, reasons }: Finding): string {
  const lines = [
    `${name}: ${verdict}`,
    ...Object.entries(config).map(([setting, value]) => `  ${setting.padEnd(34)} ${value}`),
    ...Object.entries(figures).flatMap(([figure, value]) => linesOf(figure, value)),
    ...Object.entries(tables).flatMap(([title, table]) => ['', ...linesOfTable(title, table)]),
    ...(Object.keys(tables).length > 0 ? [''] : []),
    ...reasons.map((reason) => `  ${reason}`),
  ];
  return `${lines.join('\n')}\n`;
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

/** Spread of the values, as a share of the median. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / median(values);
}

/** Three significant figures: more would be false precision. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

function linesOf(name: string, value: Finding['figures'][string]): string[] {
  if (typeof value === 'number') return [`  ${name.padEnd(34)} ${value}`];
  if (Array.isArray(value)) return [`  ${name.padEnd(34)} ${value.join(' ')}`];
  return Object.entries(value).map(([part, figure]) => `  ${`${name} ${part}`.padEnd(34)} ${figure}`);
}

/** Columns are as wide as their widest entry; the first one has the names of the rows, below the table's title. */
function linesOfTable(title: string, table: Table): string[] {
  const columns = [...new Set(Object.values(table).flatMap((row) => Object.keys(row)))];
  const cells = [
    [title, ...columns],
    ...Object.entries(table).map(([name, row]) => [
      name,
      ...columns.map((column) => String(row[column] ?? '')),
    ]),
  ];
  const widths =
    cells[0]?.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0))) ?? [];
  return cells.map((line) => {
    const [name = '', ...values] = line;
    const rest = values.map((value, index) => `  ${value.padStart(widths[index + 1] ?? 0)}`);
    return `  ${name.padEnd(widths[0] ?? 0)}${rest.join('')}`;
  });
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
export function commitOf(): string {
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
