import type { Filter } from '../filters/filter.ts';
import { RejectError } from '../reject.ts';
import type { Caller } from './caller.ts';

/**
 * The event columns that a filter of a shared link may test: those that its figures show. With one on people or properties
 * a stranger could guess, letter by letter, what no figure shows.
 */
const SHARED_COLUMNS: ReadonlySet<string> = new Set([
  ...['name', 'origin', 'path', 'title', 'channel'],
  ...['referrer', 'referrerName', 'referrerType'],
  ...['utmSource', 'utmMedium', 'utmCampaign', 'utmTerm', 'utmContent'],
  ...[
    'country',
    'region',
    'city',
    'device',
    'brand',
    'model',
    'browser',
    'browserVersion',
    'os',
    'osVersion',
  ],
]);

/** Throws a `RejectError` if a shared link may not ask this question, which `isShared` says, with these parameters. */
export function rejectUnshared({ proof }: Caller, isShared: boolean, parameters: object): void {
  if (proof?.kind !== 'share') return;
  if (!isShared)
    throw new RejectError('forbidden', 'a shared link shows the overview of its site and nothing else');
  const { filters } = parameters as { readonly filters?: readonly Filter[] };
  const index = filters?.findIndex((filter) => !mayTest(filter)) ?? -1;
  if (index >= 0)
    throw new RejectError('forbidden', `filters.${index}.name: a shared link cannot filter by this field`);
}

function mayTest({ field }: Filter): boolean {
  if (field.kind === 'fact') return true;
  return field.kind === 'text' && field.owner === 'event' && SHARED_COLUMNS.has(field.column);
}
