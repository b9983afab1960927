import { type ExportGroup, exportSources } from '../../processor/event-export.ts';

/** Columns that every page reads besides its fields. They are cheap to read, and returned only if included. */
const ALWAYS = ['receivedAt', 'revenue', 'currency'];

/** The column list of a statement for a page with these `includes`. All SQL text is our own. */
export function columnsText(includes: readonly ExportGroup[]): string {
  return [...new Set([...exportSources(includes), ...ALWAYS])].join(', ');
}
