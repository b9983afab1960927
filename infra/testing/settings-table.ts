/** One row of the settings table. */
export interface ShownSetting {
  readonly default: string;
  readonly help: string;
}

// A default that depends on the machine is shown as text.
const DEFAULTS_IN_WORDS: Readonly<Record<string, string>> = { WORKERS: 'by cores', COLLECTORS: 'by cores' };

/** The settings table as it appears in `infra/README.md`. */
export function settingsTable(settings: Readonly<Record<string, ShownSetting>>): string {
  const rows = Object.entries(settings).map(([name, { default: value, help }]) => {
    const shown = DEFAULTS_IN_WORDS[name] ?? (value === '' ? '' : `\`${value}\``);
    return `| \`${name}\` | ${shown} | ${help} |`;
  });
  return ['| name | default | what it is, when to change it |', '| --- | --- | --- |', ...rows].join('\n');
}

/** The settings table in a README: the lines from its heading on. */
export function tableIn(readme: string): string {
  const lines = readme.split('\n');
  const first = lines.findIndex((line) => line.startsWith('| name | default |'));
  const rest = first === -1 ? [] : lines.slice(first);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end === -1 ? undefined : end).join('\n');
}
