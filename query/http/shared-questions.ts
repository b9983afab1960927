import type { Filter } from '../filters/filter.ts';
import { maySharedTest } from '../filters/shared-fields.ts';
import { RejectError } from '../reject.ts';
import type { Caller } from './caller.ts';

/** Throws a `RejectError` if a shared link may not ask this question, which `isShared` says, with these parameters. */
export function rejectUnshared({ proof }: Caller, isShared: boolean, parameters: object): void {
  if (proof?.kind !== 'share') return;
  if (!isShared)
    throw new RejectError('forbidden', 'a shared link shows the overview of its site and nothing else');
  const { filters } = parameters as { readonly filters?: readonly Filter[] };
  const index = filters?.findIndex((filter) => !maySharedTest(filter)) ?? -1;
  if (index >= 0)
    throw new RejectError('forbidden', `filters.${index}.name: a shared link cannot filter by this field`);
}
