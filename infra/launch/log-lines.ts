export interface LogLines {
  show(part: string, line: string): void;
}

const WARN = 40;
const ERROR = 50;
// Fields that are in every line or already shown at its start.
const HIDDEN_FIELDS = ['level', 'time', 'pid', 'hostname', 'component', 'msg', 'v'];
const VALUE_LENGTH_MAX = 160;
const LINES_PER_WINDOW = 5;
const WINDOW_MS = 2_000;

/**
 * Shows warnings and errors of the parts on the terminal, a few per time window. The others are counted; all of them
 * are in the log files.
 */
export function createLogLines(write: (part: string, text: string) => void, nowMs: () => number): LogLines {
  let windowStartMs = -WINDOW_MS;
  let shown = 0;
  let suppressed = 0;
  return {
    show: (part, line) => {
      const text = readableLogLine(line);
      if (text === undefined) return;
      if (nowMs() - windowStartMs >= WINDOW_MS) {
        if (suppressed > 0) write('…', `${suppressed} more warnings are in the logs`);
        windowStartMs = nowMs();
        shown = 0;
        suppressed = 0;
      }
      shown += 1;
      if (shown > LINES_PER_WINDOW) suppressed += 1;
      else write(part, text);
    },
  };
}

/** One log line in readable form; undefined below level warn and for lines that are not log records. */
export function readableLogLine(line: string): string | undefined {
  const bus = /^\[\d+\] \S+ \S+ \[(ERR|FTL)\] (.*)$/.exec(line);
  if (bus !== null) return `error: ${bus[2]}`;
  if (!line.startsWith('{')) return undefined;
  const record = parseRecord(line);
  if (record === undefined || typeof record.level !== 'number' || record.level < WARN) return undefined;
  const fields = Object.entries(record)
    .filter(([name]) => !HIDDEN_FIELDS.includes(name))
    .map(([name, value]) => ` ${name}=${shortValue(value)}`);
  return `${record.level >= ERROR ? 'error' : 'warning'}: ${String(record.msg ?? '')}${fields.join('')}`;
}

function parseRecord(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // A truncated line; the log file contains it unchanged.
  }
}

function shortValue(value: unknown) {
  const text = typeof value === 'string' ? value : JSON.stringify(errorMessage(value) ?? value);
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > VALUE_LENGTH_MAX ? `${line.slice(0, VALUE_LENGTH_MAX)}…` : line;
}

/** The message of an error that the logger has written with type, message and stack. */
function errorMessage(value: unknown) {
  return typeof value === 'object' && value !== null && 'stack' in value && 'message' in value
    ? value.message
    : undefined;
}
