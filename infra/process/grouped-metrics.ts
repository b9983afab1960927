/** The metrics of one process, as Prometheus text; undefined when it did not answer. */
export interface ProcessMetrics {
  readonly name: string;
  readonly text: string | undefined;
}

interface Family {
  readonly head: readonly string[];
  readonly series: string[];
}

/**
 * One Prometheus text of the metrics of several processes. Each series keeps its value and gets the label `process`, so
 * a counter of a restarted process, which begins at zero again, is distinguished from the others. `process_up` has the
 * processes in the text.
 */
export function groupedMetrics(processes: readonly ProcessMetrics[]): string {
  const families = new Map<string, Family>();
  const up = processes.map(({ name, text }) => `process_up{process="${name}"} ${text === undefined ? 0 : 1}`);
  const head = ['# HELP process_up 1 for each process whose metrics are here', '# TYPE process_up gauge'];
  families.set('process_up', { head, series: up });
  for (const { name, text } of processes) if (text !== undefined) addTo(families, name, text);
  return `${[...families.values()].flatMap(({ head, series }) => [...head, ...series]).join('\n')}\n`;
}

/** The text has each family in one piece, its help and type before its series, as `Metrics.expose` writes it. */
function addTo(families: Map<string, Family>, process: string, text: string): void {
  let family: Family | undefined;
  let help = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('# HELP ')) help = line;
    else if (line.startsWith('# TYPE ')) {
      const name = line.split(' ', 3)[2] ?? '';
      family = families.get(name) ?? { head: [help, line], series: [] };
      families.set(name, family);
    } else if (line !== '' && family !== undefined) family.series.push(labelled(line, process));
  }
}

function labelled(series: string, process: string): string {
  const label = `process="${process}"`;
  const open = series.indexOf('{');
  if (open !== -1) return `${series.slice(0, open + 1)}${label},${series.slice(open + 1)}`;
  const space = series.indexOf(' ');
  return `${series.slice(0, space)}{${label}}${series.slice(space)}`;
}
