import { type ExportGroup, exportSources } from '../../processor/event-export.ts';

/** What a page needs of every event besides its fields: they cost next to nothing, and are shown only when included. */
const ALWAYS = ['receivedAt', 'revenue', 'currency'];

/** The columns of a page with these `includes`, as a list for a statement. All of it is our own text. */
export function columnsText(includes: readonly ExportGroup[]): string {
  return [...new Set([...exportSources(includes), ...ALWAYS])].join(', ');
}
