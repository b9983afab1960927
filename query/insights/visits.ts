import { planActiveUsers, planPartsLookup } from '../plan/plan.ts';
import { lookUpBlocks } from '../rollups/blocks-lookup.ts';
import type { FinalizedVisits, VisitRow, VisitWindows } from '../rollups/finalized-visits.ts';
import { openSeam, type QuestionScope, type SeamSources } from '../snapshot/question.ts';
import type { Span } from '../time/range.ts';
import { Otherwise, orElse } from '../ways.ts';
import type { ActiveUsersQuery } from './active-users-api.ts';

/** The next interval of visitors who do not return: after every other. */
const NEVER = 65_535;

/**
 * The intervals at `edges` with visitors, each by the number of intervals until the next visit. The span begins at the
 * first edge.
 * @param visits caches the answers of finalized hours
 */
export async function askVisits(
  sources: SeamSources,
  scope: QuestionScope,
  query: Pick<ActiveUsersQuery, 'filters' | 'partial'>,
  {
    span,
    windows,
    visits,
  }: { readonly span: Span; readonly windows: VisitWindows; readonly visits: FinalizedVisits },
): Promise<readonly VisitRow[]> {
  const { history } = sources;
  const seam = await openSeam(sources, scope, query);
  const question = {
    projectId: scope.site.storedId,
    filters: query.filters,
    span,
    edges: windows.edges,
    parameters: { windowMax: windows.windowMax, never: NEVER },
  };
  const lookup = lookUpBlocks(history, planPartsLookup(question, [span]), seam);
  return lookup.answer(async (blocks) => {
    const { all, parts } = planActiveUsers(question, blocks);
    const inParts = parts instanceof Otherwise ? parts : await visits.ask(history, parts, windows, seam);
    return orElse(inParts, (why) => history.ask({ ...all, why: all.why ?? why }, seam));
  });
}
