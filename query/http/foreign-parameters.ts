/**
 * Parameter names of the de-facto standard API that are not ours. They are accepted where that API has them, with the same
 * meaning, so its clients continue to work. An endpoint's own parameter of the same name takes precedence.
 */

/** Meaning of a foreign name. */
export type ForeignParameter =
  /** Another name of a parameter. */
  | { readonly kind: 'same-as'; readonly name: string }
  /** A filter: this field is the value. */
  | { readonly kind: 'filter'; readonly field: string }
  /** A filter for each key of an object: `properties[plan]=pro`, or the object as JSON. */
  | { readonly kind: 'filters'; readonly prefix: string }
  /** Without effect on the answer, for the reason that the table gives. */
  | { readonly kind: 'no-effect' };

export type ForeignParameters = Readonly<Record<string, ForeignParameter>>;

const sameAs = (name: string): ForeignParameter => ({ kind: 'same-as', name });
const filterOn = (field: string): ForeignParameter => ({ kind: 'filter', field });
const NO_EFFECT: ForeignParameter = { kind: 'no-effect' };

/** That API filters lists by one parameter for each field; ours have `filters` for all fields. */
const BY_FIELD: ForeignParameters = {
  country: filterOn('country'),
  city: filterOn('city'),
  device: filterOn('device'),
  browser: filterOn('browser'),
  os: filterOn('os'),
  referrer: filterOn('referrer'),
  referrerName: filterOn('referrer_name'),
  referrerType: filterOn('referrer_type'),
};

/** Its documentation lists these dates for every export; its events have `start` and `end`. */
const EXPORT_DATES: ForeignParameters = { startDate: sameAs('start'), endDate: sameAs('end') };

const BY_PATTERN: Readonly<Record<string, ForeignParameters>> = {
  '/insights/:projectId/events': {
    ...BY_FIELD,
    eventNames: sameAs('event'),
    path: filterOn('path'),
    properties: { kind: 'filters', prefix: 'properties.' },
  },
  '/insights/:projectId/events/properties': { eventName: sameAs('event') },
  '/insights/:projectId/events/property_values': {
    eventName: sameAs('event'),
    propertyKey: sameAs('property'),
  },
  '/insights/:projectId/sessions': BY_FIELD,
  // Says how many events the answer has; ours has the newest twenty, which is the default there.
  '/insights/:projectId/profiles/:profileId': { eventLimit: NO_EFFECT },
  // Says how many members the answer has.
  '/insights/:projectId/groups/:groupId': { memberLimit: NO_EFFECT },
  '/export/events': EXPORT_DATES,
  '/export/events.ndjson': EXPORT_DATES,
  '/export/events.csv': EXPORT_DATES,
  '/export/events.parquet': EXPORT_DATES,
  '/export/charts': {
    // The older name, which its documentation still accepts.
    events: sameAs('series'),
    // Fields of its stored charts, which clients send along: they say how a chart is drawn.
    chartType: NO_EFFECT,
    lineType: NO_EFFECT,
    metric: NO_EFFECT,
    unit: NO_EFFECT,
    name: NO_EFFECT,
  },
};

const NONE: ForeignParameters = {};

/** The foreign names that an endpoint accepts, by its pattern. */
export function foreignParameters(pattern: string): ForeignParameters {
  return BY_PATTERN[pattern] ?? NONE;
}

/** A sentence for the documentation of an endpoint; undefined where it has no foreign names but its own. */
export function foreignNote(pattern: string, own: readonly string[]): string | undefined {
  const parts = Object.entries(foreignParameters(pattern))
    .filter(([name]) => !own.includes(name))
    .map(([name, foreign]) => `\`${name}\` (${meaningOf(foreign)})`);
  return parts.length === 0 ? undefined : `For compatibility, also accepts ${parts.join(', ')}.`;
}

function meaningOf(foreign: ForeignParameter): string {
  switch (foreign.kind) {
    case 'same-as':
      return `the same as \`${foreign.name}\``;
    case 'filter':
      return `a filter on \`${foreign.field}\``;
    case 'filters':
      return `a filter on \`${foreign.prefix}<key>\` for each key`;
    case 'no-effect':
      return 'no effect';
  }
}
