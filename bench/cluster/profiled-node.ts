import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The environment with which a launcher runs our programs under `--cpu-prof`; each gets a folder in `profileTo`. Node 20 does not
 * accept this option in NODE_OPTIONS, so the launcher gets a script as its Node.
 * @param folder where the script may be written
 */
export function profiledNode(
  node: string,
  { folder, profileTo }: { readonly folder: string; readonly profileTo: string },
): Readonly<Record<string, string>> {
  mkdirSync(folder, { recursive: true });
  const script = join(folder, 'node');
  const preload = join(folder, 'preload.cjs');
  writeFileSync(script, scriptText(node, profileTo), { mode: 0o700 });
  writeFileSync(preload, `process.execPath = ${JSON.stringify(script)};\n`);
  return { NODE_OPTIONS: `--require ${preload}` };
}

/** Names the folder of a program by its path, such as processor-main for dist/processor/main.js. */
function scriptText(node: string, profileTo: string): string {
  return [
    '#!/bin/sh',
    'for word; do',
    '  case "$word" in',
    '    *.js) program="$(basename "$(dirname "$word")")-$(basename "$word" .js)"; break ;;',
    '  esac',
    'done',
    `exec '${node}' --cpu-prof --cpu-prof-dir='${profileTo}'/"$program" "$@"`,
    '',
  ].join('\n');
}
