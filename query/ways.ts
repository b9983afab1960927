/**
 * The ways to answer a part of a question, and the reasons to choose them. Plans (`plan/plan.ts`), caches
 * (`rollups/finalized-cache.ts`) and memory (`held-rows`) choose from these lists, and a way that cannot answer returns an
 * `Otherwise` with the reason. The header `server-timing` and `npm run admin -- explain` show what was chosen.
 */

/** The engines that can answer a part of a question, with their meaning. */
export const ENGINES = {
  memory: 'rows in the memory of the process',
  cache: 'a finalized part that the process has cached',
  rollups: 'sums of finalized hours and days in the store',
  'rollups+rows': 'both together in the store',
  rows: 'single events and sessions in the store',
  other: 'profiles, groups, lookups and other small tables of the store',
} as const;
export type Engine = keyof typeof ENGINES;

/** The reasons for an engine, or against one, with their meaning. */
export const REASONS = {
  finalized: 'its hours are finalized, so their sums never change',
  'small-site': 'all rows of the site are in memory',
  'recent-hours': 'all of its hours are in memory',
  'not-finalized': 'its hours are not finalized yet',
  'nothing-finalized': 'no hour or day of the span is finalized',
  'from-a-moment': 'the span begins at a moment, so each question has another finalized part',
  'no-rollups': 'the question has no rollups',
  'small-table': 'it reads only small tables',
  'no-such-part': 'the question has no part that can be cached',
  filters: 'a filter tests what rollups lack, or what may still change',
  'out-of-reach': 'the span is empty, longer than five years, or outside of 1970 to 2106',
  'first-question': 'a finalized part is cached from its second question on',
  'few-finalized': 'there is so little that one statement over everything is as fast',
  'too-many': 'there are too many visitors, sessions or rows to hold',
  'no-rows-here': 'memory does not answer this statement',
  'no-memory': 'the process holds no rows in memory',
  'not-asked-again': 'a site is loaded into memory at its second question within a minute',
  loading: 'the rows are being loaded into memory',
  'large-site': 'the site has more events or larger amounts than memory may hold of one',
  'older-hours': 'it needs hours that are not in memory',
  'many-hot-rows': 'there are too many hot rows to add them here',
  'owner-away': 'an owner of hot rows did not answer',
  'unknown-columns': 'a filter or a column needs values that are not in memory',
  evicted: 'the rows left memory meanwhile',
} as const;
export type Reason = keyof typeof REASONS;

/** The answer of a way that cannot be taken: another one has to answer, for this reason. */
export class Otherwise {
  readonly why: Reason;

  constructor(why: Reason) {
    this.why = why;
  }
}

/** The found answer, or the answer of another way. */
export function orElse<Answer, Other>(
  found: Answer | Otherwise,
  other: (why: Reason) => Other,
): Answer | Other {
  return found instanceof Otherwise ? other(found.why) : found;
}

/** The engine that answered a part of a question, and the reason. */
export interface Way {
  /** The name of a statement, or the kind of a cached part. */
  readonly part: string;
  readonly engine: Engine;
  readonly why: Reason;
  /** Estimated events or sessions to read; infinite if unknown, absent when the part reads no such rows. */
  readonly rows?: number;
  /** The reason against memory; absent when memory answered, or was not asked. */
  readonly notInMemory?: Reason;
}

/** The text of a value that is absent or unknown. */
const NONE = '-';

/** The ways as text, separated by semicolons: part, engine, reason, rows, and the reason against memory. */
export function waysText(ways: readonly Way[]): string {
  return ways
    .map(({ part, engine, why, rows = Number.POSITIVE_INFINITY, notInMemory = NONE }) =>
      [part, engine, why, Number.isFinite(rows) ? rows : NONE, notInMemory].join(' '),
    )
    .join('; ');
}

/** The ways in such a text. */
export function waysIn(text: string): readonly Way[] {
  return text.split('; ').flatMap((each) => {
    const [part = '', engine = '', why = '', rows = NONE, notInMemory = NONE] = each.split(' ');
    if (!isEngine(engine) || !isReason(why)) return [];
    return [
      {
        ...{ part, engine, why },
        ...(rows === NONE ? {} : { rows: Number(rows) }),
        ...(isReason(notInMemory) ? { notInMemory } : {}),
      },
    ];
  });
}

function isEngine(text: string): text is Engine {
  return Object.hasOwn(ENGINES, text);
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(REASONS, text);
}
