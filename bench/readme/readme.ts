import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';

/** The root README, as a newcomer reads it. */
export const README = readFileSync(join(projectRoot, 'README.md'), 'utf8');

/** The only code block of this language that contains `text`. Throws when there is none, or another one. */
export function codeBlock(language: string, text = ''): string {
  const found = codeBlocks(language).filter((block) => block.includes(text));
  const [block] = found;
  if (block === undefined || found.length > 1)
    throw new Error(
      `README.md has ${found.length} code blocks in ${language || 'no language'} with "${text}"`,
    );
  return block;
}

/** Every code block of a language, in the order of the page; the empty language for blocks that name none. */
export function codeBlocks(language: string): readonly string[] {
  return [...README.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, name, block = '']) =>
    name === language ? [block] : [],
  );
}
