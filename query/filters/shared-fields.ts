import { VISIT_FIELD_LIST } from '../../processor/fields.ts';
import type { Filter } from './filter.ts';

/**
 * The event columns that a filter of a shared link may test: the columns that its figures show. With a filter on people or
 * properties a stranger could guess, letter by letter, values absent from all figures.
 */
const SHARED_COLUMNS: ReadonlySet<string> = new Set([
  ...['name', 'origin', 'path', 'title'],
  ...VISIT_FIELD_LIST.flatMap(([column, { isShared }]) => (isShared ? [column] : [])),
]);

/** True if a question of a shared link may test this filter, its own or one of a segment or goal that it names. */
export function maySharedTest({ field }: Filter): boolean {
  if (field.kind === 'fact') return true;
  return field.kind === 'text' && field.owner === 'event' && SHARED_COLUMNS.has(field.column);
}
