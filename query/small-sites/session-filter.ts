import { ENVIRONMENT_COLUMNS, SOURCE_COLUMNS } from '../../ingest/event.ts';
import type { Filter } from '../filters/filter.ts';
import { type SessionState, wordOf } from './session-columns.ts';
import type { SiteTexts } from './site-texts.ts';

export type StateTest = (state: SessionState) => boolean;

const ENTRY_COLUMNS: ReadonlySet<string> = new Set([...SOURCE_COLUMNS, ...ENVIRONMENT_COLUMNS]);

/**
 * What filters say of a session, where memory can tell as the store does: texts of where it came from and what it came with,
 * compared exactly. Undefined for any other filter: those on events themselves, on facts, and those that fold case or match
 * expressions, for which the store has rules of its own.
 */
export function sessionTestOf(filters: readonly Filter[], { words }: SiteTexts): StateTest | undefined {
  const tests: StateTest[] = [];
  for (const { field, test, negated } of filters) {
    if (field.owner !== 'event' || field.kind !== 'text' || !ENTRY_COLUMNS.has(field.column))
      return undefined;
    const column = wordOf(field.column);
    const fits = textTestOf(test);
    if (column === -1 || fits === undefined) return undefined;
    const known = new Map<number, boolean>();
    tests.push((state) => {
      const code = state.words[column] ?? 0;
      const found = known.get(code) ?? fits(words.textOf(code));
      known.set(code, found);
      return found !== negated;
    });
  }
  return (state) => tests.every((test) => test(state));
}

function textTestOf(test: Filter['test']): ((text: string) => boolean) | undefined {
  if (test.kind === 'present') return (text) => text !== '';
  if (test.kind === 'equal-text') {
    const values = new Set(test.values);
    return (text) => values.has(text);
  }
  if (test.kind !== 'part') return undefined;
  switch (test.comparison) {
    case 'startsWith':
      return (text) => test.values.some((value) => text.startsWith(value));
    case 'endsWith':
      return (text) => test.values.some((value) => text.endsWith(value));
    default:
      return undefined;
  }
}
