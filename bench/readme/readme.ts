import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';

/** The root README, as a newcomer reads it. */
export const README = readFileSync(join(projectRoot, 'README.md'), 'utf8');
/** The pages for operators: several machines, reverse proxies, metrics. */
export const INFRA_README = readFileSync(join(projectRoot, 'infra/README.md'), 'utf8');
export const PROXY_PAGE = readFileSync(join(projectRoot, 'infra/operations/proxy.md'), 'utf8');
export const OPERATIONS_README = readFileSync(join(projectRoot, 'infra/operations/README.md'), 'utf8');

/** The only code block of this language that contains `text`. Throws when there is none, or another one. */
export function codeBlock(language: string, text = '', page = README): string {
  const found = codeBlocks(language, page).filter((block) => block.includes(text));
  const [block] = found;
  if (block === undefined || found.length > 1)
    throw new Error(
      `there are ${found.length} code blocks in ${language || 'no language'} with "${text}" on the page`,
    );
  return block;
}

/** Every code block of a language, in the order of the page; the empty language for blocks that name none. Those in lists are set in. */
export function codeBlocks(language: string, page = README): readonly string[] {
  return [...page.matchAll(/^( *)```(\w*)\n(.*?)^\1```$/gms)].flatMap(([, space = '', name, block = '']) =>
    name === language ? [block.replaceAll(new RegExp(`^${space}`, 'gm'), '')] : [],
  );
}
