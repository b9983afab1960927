import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { UsageError } from '../cluster/options.ts';
import { DEFAULT_SETTINGS, type ServiceSettings } from '../cluster/shipped-service.ts';

/** A build of the service with settings, by the text that chose it. */
export interface Variant {
  /** Empty for this tree with default settings. */
  readonly name: string;
  readonly settings: ServiceSettings;
}

/**
 * The variants of a run. `env` holds for all of them; each text of `compare` adds one that differs from the first. A text
 * is a list of words: `NAME=VALUE` is a setting of the service, `tree=DIR` another source tree, `node=PATH` another Node.
 */
export function variantsOf(
  env: readonly string[],
  compare: readonly string[],
): readonly [Variant, ...Variant[]] {
  const base = variantOf(env.join(' '), DEFAULT_SETTINGS);
  return [base, ...compare.map((text) => variantOf(text, base.settings))];
}

/** The version of the Node that runs a variant, such as v24.1.0. */
export function nodeVersionOf({ settings }: Variant): string {
  return execFileSync(settings.node, ['--version'], { encoding: 'utf8' }).trim();
}

function variantOf(text: string, base: ServiceSettings): Variant {
  const words = text.split(/\s+/).filter((word) => word !== '');
  let settings = base;
  for (const word of words) {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(word) ?? [];
    if (name === 'tree') settings = { ...settings, tree: resolve(value) };
    else if (name === 'node') settings = { ...settings, node: resolve(value) };
    else if (/^[A-Z][A-Z0-9_]*$/.test(name))
      settings = { ...settings, env: { ...settings.env, [name]: value } };
    else throw new UsageError(`${word}: expected NAME=VALUE, tree=DIR or node=PATH`);
  }
  return { name: words.join(' '), settings };
}
