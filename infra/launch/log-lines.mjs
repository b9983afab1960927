/** @typedef {{ show(part: string, line: string): void }} LogLines */

const WARN = 40;
const ERROR = 50;
// Fields that every line has, or that its beginning already shows.
const HIDDEN_FIELDS = ['level', 'time', 'pid', 'hostname', 'component', 'msg', 'v'];
const VALUE_LENGTH_MAX = 160;
const LINES_PER_WINDOW = 5;
const WINDOW_MS = 2_000;

/**
 * Shows warnings and errors of the parts on the terminal, a few per window; what was held back is counted and is in
 * the log files all the same.
 * @param {(part: string, text: string) => void} write
 * @param {() => number} nowMs
 * @returns {LogLines}
 */
export function createLogLines(write, nowMs) {
  let windowStartMs = -WINDOW_MS;
  let shown = 0;
  let heldBack = 0;
  return {
    show: (part, line) => {
      const text = readableLogLine(line);
      if (text === undefined) return;
      if (nowMs() - windowStartMs >= WINDOW_MS) {
        if (heldBack > 0) write('…', `${heldBack} more warnings are in the logs`);
        windowStartMs = nowMs();
        shown = 0;
        heldBack = 0;
      }
      shown += 1;
      if (shown > LINES_PER_WINDOW) heldBack += 1;
      else write(part, text);
    },
  };
}

/**
 * One log line as a person reads it; undefined for what is not worth a look: below warn, or not a log line.
 * @param {string} line
 * @returns {string | undefined}
 */
export function readableLogLine(line) {
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

/**
 * @param {string} line
 * @returns {Record<string, unknown> | undefined}
 */
function parseRecord(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // A line that was cut off; it is in the log file as it came.
  }
}

/** @param {unknown} value */
function shortValue(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(errorMessage(value) ?? value);
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > VALUE_LENGTH_MAX ? `${line.slice(0, VALUE_LENGTH_MAX)}…` : line;
}

/**
 * Of an error, as the logger writes it with type, message and stack, only the message.
 * @param {unknown} value
 */
function errorMessage(value) {
  return typeof value === 'object' && value !== null && 'stack' in value && 'message' in value
    ? value.message
    : undefined;
}
