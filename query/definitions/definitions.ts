import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Entry, Mirror } from '../../infra/bus/mirror.ts';
import { SCREEN_VIEW } from '../../ingest/event.ts';
import { combinedFilters, type Filter, type FilterJson, filtersOf } from '../filters/filter.ts';
import { maySharedTest } from '../filters/shared-fields.ts';
import { RejectError } from '../reject.ts';
import type { Span } from '../time/range.ts';
import type { GoalRecord, SegmentRecord } from './definition-records.ts';

/** The team's definitions for the figures of a site. */
export interface SiteDefinitions {
  readonly segments: readonly SegmentRecord[];
  readonly goals: readonly GoalRecord[];
  readonly references: readonly DatedReference[];
  /** The question is of a shared link: it may use none that tests a field which the link's own filters may not. */
  readonly isShared?: boolean;
}

/** The definitions of every site. */
export interface Definitions {
  /** @param storedId the site's `storedId`, so that a new site of the same id has none of the earlier one */
  of(storedId: StoredId): SiteDefinitions;
}

/** A date to mark on charts. */
export interface DatedReference {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** ISO 8601, UTC. */
  readonly date: string;
}

/** A goal that a question names, with its filters ready to compile. */
export interface Goal {
  readonly record: GoalRecord;
  readonly filters: readonly Filter[];
}

/** The definitions in mirrors of control records, found by site without scanning other sites' definitions. */
export class MirroredDefinitions implements Definitions {
  readonly #segments: BySite<SegmentRecord>;
  readonly #goals: BySite<GoalRecord>;
  readonly #references: BySite<DatedReference & OfSite>;

  constructor(mirrors: {
    readonly segments: Followed<SegmentRecord>;
    readonly goals: Followed<GoalRecord>;
    readonly references: Followed<DatedReference & OfSite>;
  }) {
    this.#segments = new BySite(mirrors.segments);
    this.#goals = new BySite(mirrors.goals);
    this.#references = new BySite(mirrors.references);
  }

  of(storedId: StoredId): SiteDefinitions {
    return {
      segments: this.#segments.of(storedId),
      goals: this.#goals.of(storedId),
      references: this.#references.of(storedId),
    };
  }
}

type Followed<Value> = Pick<Mirror<Value>, 'entries' | 'onChange'>;

interface OfSite {
  readonly storedId: StoredId;
}

/** The records of a mirror by site, for as long as the mirror. */
class BySite<Value extends OfSite> {
  readonly #bySite = new Map<StoredId, Map<string, Value>>();

  constructor(mirror: Followed<Value>) {
    for (const entry of mirror.entries()) this.#add(entry);
    mirror.onChange((after, before) => {
      if (before !== undefined) this.#remove(before);
      if (after !== undefined) this.#add(after);
    });
  }

  of(storedId: StoredId): readonly Value[] {
    return [...(this.#bySite.get(storedId)?.values() ?? [])];
  }

  #add({ key, value }: Entry<Value>): void {
    const own = this.#bySite.get(value.storedId) ?? new Map<string, Value>();
    this.#bySite.set(value.storedId, own.set(key, value));
  }

  #remove({ key, value: { storedId } }: Entry<Value>): void {
    const own = this.#bySite.get(storedId);
    own?.delete(key);
    if (own?.size === 0) this.#bySite.delete(storedId);
  }
}

const NAME_SHOWN_MAX = 100;
const NONE: SiteDefinitions = { segments: [], goals: [], references: [] };

/**
 * Parameters with the filters of the segments that they name added to their own.
 * @throws {RejectError} 400 for a segment that does not exist, and for too many filters in all; 403 where a shared link may not use one
 */
export function withSegments<Parameters>(
  parameters: Parameters,
  { segments, isShared = false } = NONE,
): Parameters {
  if (!namesSegments(parameters)) return parameters;
  const added = parameters.segment.map((name) => {
    const filters = filtersOf(named('segment', name, segments).filters);
    if (isShared) rejectHidden('segment', filters);
    return filters;
  });
  return { ...parameters, filters: combinedFilters([parameters.filters, ...added]) };
}

interface Segmented {
  readonly filters: readonly Filter[];
  readonly segment: readonly string[];
}

function namesSegments<Parameters>(parameters: Parameters): parameters is Parameters & Segmented {
  if (typeof parameters !== 'object' || parameters === null) return false;
  const { segment } = parameters as { readonly segment?: unknown };
  return Array.isArray(segment) && segment.length > 0;
}

/**
 * The goal of this id or name; undefined without one.
 * @param filters the other filters of the question, which count towards the same limits
 * @throws {RejectError} 400 for a goal that does not exist, and for too many filters in all; 403 where a shared link may not use it
 */
export function goalNamed(
  name: string | undefined,
  filters: readonly Filter[],
  { goals, isShared = false } = NONE,
): Goal | undefined {
  if (name === undefined) return undefined;
  const goal = goalOf(named('goal', name, goals));
  if (isShared) rejectHidden('goal', goal.filters);
  combinedFilters([filters, goal.filters]);
  return goal;
}

/** All goals of the site that the question may use; a shared link does not see the others. */
export function goalsShown({ goals, isShared = false } = NONE): readonly Goal[] {
  const all = goals.map(goalOf);
  return isShared ? all.filter(({ filters }) => filters.every(maySharedTest)) : all;
}

/**
 * Throws if a definition tests a field hidden from shared links: its figures would reveal who is among the people that it
 * selects.
 */
function rejectHidden(what: 'segment' | 'goal', filters: readonly Filter[]): void {
  if (filters.every(maySharedTest)) return;
  throw new RejectError(
    'forbidden',
    `${what}: a shared link cannot use this ${what}, because it filters by a field that the link does not show`,
  );
}

/** Returns a goal as a set of filters on events: the name, for a page also the path, and the goal's own filters. */
export function goalOf(record: GoalRecord): Goal {
  const { type, event, path, filters } = record;
  const own: FilterJson[] =
    type === 'event'
      ? [{ name: 'name', operator: 'is', value: [event ?? ''] }]
      : [{ name: 'name', operator: 'is', value: [SCREEN_VIEW] }, pathFilter(path ?? '')];
  return { record, filters: filtersOf([...own, ...filters]) };
}

/** `*` matches any characters or none. Patterns whose only `*` are at the end need no regular expression. */
function pathFilter(pattern: string): FilterJson {
  if (!pattern.includes('*')) return { name: 'path', operator: 'is', value: [pattern] };
  let end = pattern.length;
  while (pattern[end - 1] === '*') end -= 1;
  const before = pattern.slice(0, end);
  if (before === '') return { name: 'path', operator: 'regex', value: ['^'] };
  if (!before.includes('*')) return { name: 'path', operator: 'startsWith', value: [before] };
  const parts = pattern.split(/\*+/).map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'));
  return { name: 'path', operator: 'regex', value: [`^${parts.join('.*')}$`] };
}

/** The references in a span, oldest first, ties by id. Beyond `max` the newest. */
export function referencesIn(
  { fromMs, toMs }: Span,
  max: number,
  { references } = NONE,
): readonly DatedReference[] {
  return references
    .map((reference) => ({ reference, atMs: Date.parse(reference.date) }))
    .filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
    .sort((a, b) => a.atMs - b.atMs || (a.reference.id < b.reference.id ? -1 : 1))
    .slice(-max)
    .map(({ reference: { id, title, description, date } }) => ({ id, title, description, date }));
}

interface NamedRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
}

/** The record of an id, else the one of a name; the oldest, where two creations at the same time took one name. */
function named<One extends NamedRecord>(what: string, text: string, all: readonly One[]): One {
  const found =
    all.find(({ id }) => id === text.toLowerCase()) ??
    all
      .filter(({ name }) => name === text)
      .sort((a, b) => (`${a.createdAt} ${a.id}` < `${b.createdAt} ${b.id}` ? -1 : 1))[0];
  if (found !== undefined) return found;
  throw new RejectError(
    'invalid',
    `${what}: no such ${what}: ${JSON.stringify(text.slice(0, NAME_SHOWN_MAX))}`,
  );
}
