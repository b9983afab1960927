/** An invalid command line; the message is fit for the terminal. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Arguments split into `--name value` (or `--name=value`), flags without a value, and the rest. */
export interface Options {
  readonly values: ReadonlyMap<string, string>;
  /** Every value of an option that may be repeated, in order. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly flags: ReadonlySet<string>;
  readonly rest: readonly string[];
}

/** Splits `args`; rejects names that are in neither list. */
export function readOptions(
  args: readonly string[],
  known: {
    readonly values: readonly string[];
    readonly lists?: readonly string[];
    readonly flags: readonly string[];
  },
): Options {
  const values = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  const flags = new Set<string>();
  const rest: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const [name = '', inline] = splitOnce(args[index] ?? '');
    if (!name.startsWith('--')) rest.push(args[index] ?? '');
    else if (known.flags.includes(name) && inline === undefined) flags.add(name);
    else if (known.values.includes(name) || known.lists?.includes(name)) {
      const value = inline ?? args[index + 1];
      if (value === undefined) throw new UsageError(`${name} needs a value`);
      if (known.values.includes(name)) values.set(name, value);
      else lists.set(name, [...(lists.get(name) ?? []), value]);
      if (inline === undefined) index += 1;
    } else throw new UsageError(`unknown option ${name}`);
  }
  return { values, lists, flags, rest };
}

/** A number option above 0; `fallback` when absent. */
export function numberOption<Fallback>(
  options: Options,
  name: string,
  fallback: Fallback,
): number | Fallback {
  const text = options.values.get(name);
  if (text === undefined) return fallback;
  const number = Number(text);
  if (!(number > 0) || !Number.isFinite(number)) throw new UsageError(`${name}: expected a number above 0`);
  return number;
}

/** A count above 0 such as 5000, 50k or 20M; `fallback` when absent. */
export function countOption(options: Options, name: string, fallback: number): number {
  const text = options.values.get(name);
  if (text === undefined) return fallback;
  const match = /^(\d+(?:\.\d+)?)([kM]?)$/.exec(text);
  const count = Number(match?.[1]) * (match?.[2] === 'M' ? 1_000_000 : match?.[2] === 'k' ? 1_000 : 1);
  if (!Number.isInteger(count) || count <= 0)
    throw new UsageError(`${name}: expected a count such as 5000, 50k or 20M`);
  return count;
}

/** The base URL and the client: `--url` and `--site`, or the values written by the first start. */
export function targetOf(
  options: Options,
  credentials: { readonly baseUrl: string; readonly projectId: string },
): { readonly url: string; readonly site: string } {
  const url = (options.values.get('--url') ?? credentials.baseUrl).replace(/\/+$/, '');
  if (!URL.canParse(url)) throw new UsageError(`--url: not an address: ${url}`);
  return { url, site: options.values.get('--site') ?? credentials.projectId };
}

function splitOnce(argument: string): readonly [string, string | undefined] {
  const at = argument.startsWith('--') ? argument.indexOf('=') : -1;
  return at < 0 ? [argument, undefined] : [argument.slice(0, at), argument.slice(at + 1)];
}
