import { readFileSync } from 'node:fs';
import type { Setting } from './schemas.ts';

/** A setting in a settings file. */
export interface SettingLine {
  /** From 1 on. */
  readonly line: number;
  readonly name: string;
  readonly value: string;
}

/** The settings of a file, or one sentence on why it cannot be used. */
export type SettingsFile =
  | { readonly kind: 'settings'; readonly lines: readonly SettingLine[] }
  | { readonly kind: 'missing' }
  | { readonly kind: 'problem'; readonly problem: string };

type SettingsTable = Readonly<Record<string, Setting>>;

const ASSIGNMENT = /^([A-Za-z_]\w*)\s*=(.*)$/;
const COMMENT_OR_NOTHING = /^(?:\s+#.*|\s*)$/;

/**
 * Reads a settings file:
 *
 *     # A comment.
 *     PORT=8080          # Behind a value, a comment needs a space before it.
 *     NATS_URL='nats://user:a # b@host'    In quotes, ' or ", everything belongs to the value.
 *
 * `util.parseEnv` of Node is not used: it skips lines that it does not understand, and knows no line numbers.
 */
export function readSettingsFile(path: string, settings: SettingsTable): SettingsFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT'
      ? { kind: 'missing' }
      : { kind: 'problem', problem: `FOOTFALL_CONF: ${path} cannot be read (${code})` };
  }
  const lines = new Map<string, SettingLine>();
  for (const [index, content] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    if (/^\s*(?:#|$)/.test(content)) continue;
    const line = index + 1;
    const problemOf = (problem: string): SettingsFile => ({
      kind: 'problem',
      problem: `${path}, line ${line}: ${problem}`,
    });
    const found = settingIn(content.trim(), settings);
    if (typeof found === 'string') return problemOf(found);
    const before = lines.get(found.name);
    if (before !== undefined) return problemOf(`${found.name} is in line ${before.line}, too`);
    lines.set(found.name, { ...found, line });
  }
  return { kind: 'settings', lines: [...lines.values()] };
}

/** The setting of a line, or its problem. */
function settingIn(
  content: string,
  settings: SettingsTable,
): { readonly name: string; readonly value: string } | string {
  const [, name = '', rest = ''] = ASSIGNMENT.exec(content) ?? [];
  if (name === '') return 'expected NAME=value';
  const setting = Object.hasOwn(settings, name) ? settings[name] : undefined;
  if (setting === undefined) return `${name} is not a setting (infra/README.md lists them)`;
  const value = valueIn(rest);
  if (value === undefined) return `${name}: the quotes do not enclose the value`;
  const parsed = setting.schema(value || setting.default);
  return 'problem' in parsed ? `${name}: ${parsed.problem} (${setting.help})` : { name, value };
}

/** The value before the comment of its line, without quotes; undefined when these are not closed, or text follows them. */
function valueIn(rest: string): string | undefined {
  const text = rest.trimStart();
  const quote = text[0] ?? '';
  if (quote === '"' || quote === "'") {
    const end = text.indexOf(quote, 1);
    return end !== -1 && COMMENT_OR_NOTHING.test(text.slice(end + 1)) ? text.slice(1, end) : undefined;
  }
  const comment = rest.search(/\s#/);
  return (comment === -1 ? rest : rest.slice(0, comment)).trim();
}
