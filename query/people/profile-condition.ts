import type { StoreParameters } from '../../infra/store/store.ts';
import { compileFilters, EVENT_ROWS } from '../filters/compile.ts';
import type { Filter } from '../filters/filter.ts';
import { RejectError } from '../reject.ts';
import type { ProfileListQuery } from './profile-list-api.ts';

/**
 * Selects the listed profiles, as texts of statements and their parameters. A search matches a record by its texts and
 * a visit by its profile id, so `any` finds the union of both parts, in a third of the time.
 */
export interface ProfileCondition {
  /** The condition on `profileId` only. */
  readonly any: string;
  /** On a row of `profiles`, with its id as `profileId`: the search's matches in the record, and the filters. */
  readonly records: string;
  /** On the profile that a visit names: the search's matches in its id, and the filters. */
  readonly visits: string;
  readonly parameters: StoreParameters;
}

const IN_ID = 'positionCaseInsensitiveUTF8(profileId, {search:String}) > 0';
/** The column has all texts of the record, one per line. */
const IN_RECORD = 'position(searched, lowerUTF8({search:String})) > 0';
/** For a searched text with several lines: it must not match across two texts. */
const IN_TEXTS = `(positionCaseInsensitiveUTF8(id, {search:String}) > 0
                OR positionCaseInsensitiveUTF8(concat(firstName, ' ', lastName), {search:String}) > 0
                OR positionCaseInsensitiveUTF8(email, {search:String}) > 0)`;

/**
 * The condition of the search and the filters; undefined without any.
 * @throws {RejectError} 400 for a filter that is not on profiles, and for a value without a property
 */
export function profileConditionOf(
  query: Pick<ProfileListQuery, 'search' | 'property' | 'value' | 'filters'>,
): ProfileCondition | undefined {
  const { search = '' } = query;
  const filters = filtersOf(query);
  if (search === '' && filters.length === 0) return undefined;
  const { condition, parameters } = compileFilters(filters, EVENT_ROWS);
  if (search === '') return { any: condition, records: condition, visits: condition, parameters };
  const inRecord = search.includes('\n') ? IN_TEXTS : IN_RECORD;
  const found = `(${IN_ID} OR profileId IN (
        SELECT id
        FROM profiles FINAL
        WHERE projectId = {site:String} AND ${inRecord}))`;
  return {
    any: `${found} AND ${condition}`,
    records: `${inRecord} AND ${condition}`,
    visits: `${IN_ID} AND ${condition}`,
    parameters: { ...parameters, search },
  };
}

/** The filters on profiles, including the one of `property` and `value`. */
function filtersOf({
  property,
  value,
  filters,
}: Pick<ProfileListQuery, 'property' | 'value' | 'filters'>): readonly Filter[] {
  const foreign = filters.findIndex(
    ({ field }) => field.owner !== 'profile' && !(field.kind === 'text' && field.column === 'profileId'),
  );
  if (foreign >= 0)
    throw new RejectError('invalid', `filters.${foreign}.name: expected a field of the profile`);
  if (property === undefined) {
    if (value === undefined) return filters;
    throw new RejectError('invalid', 'value: expected together with property');
  }
  return [...filters, propertyFilter(property, value)];
}

function propertyFilter(key: string, value: string | undefined): Filter {
  return {
    field: { owner: 'profile', kind: 'property', key },
    test: value === undefined ? { kind: 'present' } : { kind: 'equal-text', values: [value] },
    negated: false,
  };
}
