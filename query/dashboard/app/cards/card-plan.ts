import type { BreakdownAnswer, RankedFigures } from '../../../insights/breakdown-api.ts';
import type { DimensionName } from '../../../insights/dimensions.ts';
import type { EntryExitMode, PagesAnswer } from '../../../insights/pages-api.ts';
import type { NamesAnswer } from '../../../insights/vocabulary-api.ts';
import type { ChosenFilter } from '../data/address.ts';
import { path as written } from '../data/format.ts';
import type { QueryValues } from '../data/service.ts';

/** Events that the service adds to the site's own. They count sessions, which have separate figures. */
const ADDED_EVENTS: readonly string[] = ['session_start', 'session_end'];
/** Maximum number of rows that may be left out of an answer. */
export const LEFT_OUT_MAX = ADDED_EVENTS.length;

/** The plan of a card: its tabs, the question behind each, and the conversion of the answer to rows. */

/** A card of the overview. A card is one file in this folder, and a line in `cards.ts`. */
export interface CardPlan {
  readonly id: string;
  readonly title: string;
  readonly tabs: readonly CardTab[];
}

export interface CardTab {
  readonly id: string;
  readonly title: string;
  /** The question below `/insights/{site}`, and its own parameters. */
  readonly path: string;
  readonly asked?: QueryValues;
  /** Default unit of the rows' counts. */
  readonly unit: 'sessions' | 'events';
  /** The field that a search is about; without one, loaded rows are searched by their labels. */
  readonly searched?: string;
  readonly rowsOf: (answer: unknown) => readonly CardRow[];
  /** Shown as a map with all rows, instead of as a list. */
  readonly isMap?: boolean;
}

export interface CardRow {
  readonly key: string;
  readonly label: string;
  /** Shown behind a label that says too little by itself. */
  readonly hint?: string;
  readonly isUnknown?: boolean;
  /** Filters added by a click on the row. */
  readonly filters: readonly ChosenFilter[];
  readonly value: number;
  /** Absent for events, which have counts only. */
  readonly figures?: RankedFigures;
}

/** Display texts of a dimension's values. */
export interface DimensionWords {
  /** Shown for an unknown value. */
  readonly unknown: string;
  readonly labelOf?: (name: string) => string;
  /** The dimension that prefixes belong to. */
  readonly parent?: DimensionName;
  readonly parentLabelOf?: (name: string) => string;
}

/** A tab that ranks the values of a dimension. */
export function dimensionTab(
  dimension: DimensionName,
  title: string,
  { unknown, labelOf, parent, parentLabelOf }: DimensionWords,
): CardTab {
  return {
    id: dimension,
    title,
    path: dimension,
    unit: 'sessions',
    ...(labelOf === undefined && { searched: dimension }),
    rowsOf: (answer) =>
      (answer as BreakdownAnswer).map(({ name, prefix, ...figures }) => {
        const above = parent !== undefined && prefix ? [filterOn(parent, prefix)] : [];
        const hint = prefix ? (parentLabelOf?.(prefix) ?? prefix) : undefined;
        return {
          key: `${prefix ?? ''}/${name ?? ''}`,
          label: name === null ? unknown : (labelOf?.(name) ?? name),
          ...(hint !== undefined && { hint }),
          isUnknown: name === null,
          filters: [...above, filterOn(dimension, name)],
          value: figures.sessions,
          figures,
        };
      }),
  };
}

/** A tab that ranks pages: all of them, or those where sessions began or ended. */
export function pageTab(id: string, title: string, mode?: EntryExitMode): CardTab {
  const field = mode === undefined ? 'path' : `${mode}Path`;
  return {
    id,
    title,
    path: mode === undefined ? 'pages' : 'pages/entry_exit',
    ...(mode !== undefined && { asked: { mode } }),
    unit: 'sessions',
    searched: field,
    rowsOf: (answer) => {
      const pages = answer as PagesAnswer;
      const isManyHosts = new Set(pages.map(({ origin }) => origin)).size > 1;
      return pages.map(({ origin, path, title: pageTitle, ...figures }) => ({
        key: `${origin}${path}`,
        label: isManyHosts ? `${origin.replace(/^https?:\/\//, '')}${written(path)}` : written(path),
        ...(pageTitle !== '' && { hint: pageTitle }),
        filters: [filterOn(field, path)],
        value: figures.sessions,
        figures,
      }));
    },
  };
}

/** A tab that counts events by name. */
export function eventTab(id: string, title: string): CardTab {
  return {
    id,
    title,
    path: 'events/names',
    unit: 'events',
    searched: 'name',
    rowsOf: (answer) =>
      (answer as NamesAnswer)
        .filter(({ name }) => !ADDED_EVENTS.includes(name))
        .map(({ name, count }) => ({
          key: name,
          label: name === 'screen_view' ? 'Page view' : name,
          ...(name === 'screen_view' && { hint: name }),
          filters: [filterOn('name', name)],
          value: count,
        })),
  };
}

function filterOn(name: string, value: string | null): ChosenFilter {
  return value === null
    ? { name, operator: 'isNull', values: [] }
    : { name, operator: 'is', values: [value] };
}
