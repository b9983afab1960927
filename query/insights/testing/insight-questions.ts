import { HOUR_MS } from '../../../infra/durations.ts';
import { metricsQuery } from '../../api.ts';
import type { RequestedFilter } from '../../filters/testing/evaluate.ts';
import { type FilteredScene, heldEvents, heldVisits } from '../../filters/testing/filtered.ts';
import { readParameters } from '../../http/parameters.ts';
import type { QuestionScope, Sources } from '../../snapshot/question.ts';
import { modelSite } from '../../testing/owned-lanes.ts';
import { recount } from '../../testing/recount.ts';
import { recountBreakdown, recountEntryExit, recountPages } from '../../testing/visit-recount.ts';
import type { SeenEvent } from '../../testing/visits.ts';
import type { Range } from '../../time/range.ts';
import { Zones } from '../../time/zone.ts';
import { activeUsersInsight } from '../active-users.ts';
import { answerBreakdown } from '../breakdown.ts';
import { listQuery } from '../breakdown-api.ts';
import { dimensionOf } from '../dimensions.ts';
import { eventListInsight } from '../event-list.ts';
import { answerMetrics } from '../metrics.ts';
import { answerEntryExit, answerPages } from '../pages.ts';
import { entryExitQuery } from '../pages-api.ts';
import { sessionListInsight } from '../session-list.ts';
import { eventNamesInsight, propertyKeysInsight, propertyValuesInsight } from '../vocabulary.ts';

/** The time of every question. */
export const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const scope: QuestionScope = { site: modelSite('site'), zone: new Zones().of('UTC'), nowMs: NOW_MS };

export type Filters = readonly RequestedFilter[];

/** One question of each kind: its answer with these filters, and the expected answer from every row. */
export interface InsightQuestion {
  readonly range: string;
  readonly ask: (sources: Sources, text: string) => Promise<unknown>;
  readonly expected: (filters: Filters, range: Range, scene: FilteredScene) => unknown;
}

function counted(filters: Filters, { span }: Range, scene: FilteredScene) {
  return {
    span,
    currency: 'EUR',
    events: heldEvents(filters, scene),
    visits: heldVisits(filters, scene, span),
  };
}

/** Filtered events in the range, newest first, without synthetic ones. */
function eventsIn(filters: Filters, { span }: Range, scene: FilteredScene): SeenEvent[] {
  return heldEvents(filters, scene)
    .filter(({ atMs }) => atMs >= span.fromMs && atMs < span.toMs)
    .sort((a, b) => b.atMs - a.atMs || idOf(a) - idOf(b));
}

const sent = ({ name }: SeenEvent) => !name.startsWith('session_');
const idOf = ({ id }: { readonly id: string }) => Number.parseInt(id, 16);

/** Words by number of events, most first. */
function counts(words: readonly string[]): (readonly [string, number])[] {
  return [...new Set(words)]
    .map((word) => [word, words.filter((one) => one === word).length] as const)
    .sort((a, b) => b[1] - a[1] || Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0])));
}

function propertiesOf({ columns }: SeenEvent): readonly (readonly [string, string])[] {
  const flat = Array.isArray(columns?.properties) ? columns.properties : [];
  return flat.flatMap((key, index) => (index % 2 === 0 ? [[key, flat[index + 1] ?? '']] : []));
}

function activeOn(filters: Filters, scene: FilteredScene) {
  const real = heldEvents(filters, scene).filter(sent);
  const active = (dayMs: number, days: number) =>
    new Set(
      real
        .filter(({ atMs }) => atMs < dayMs + 24 * HOUR_MS && atMs >= dayMs - (days - 1) * 24 * HOUR_MS)
        .map(({ visitor }) => visitor)
        .filter((visitor) => visitor !== ''),
    ).size;
  return [-1, 0].map((days) => {
    const dayMs = Math.floor(NOW_MS / (24 * HOUR_MS)) * 24 * HOUR_MS + days * 24 * HOUR_MS;
    const date = new Date(dayMs).toISOString().slice(0, 10);
    return { date, dau: active(dayMs, 1), wau: active(dayMs, 7), mau: active(dayMs, 30) };
  });
}

/** Questions by path. */
export const QUESTIONS: Readonly<Record<string, InsightQuestion>> = {
  metrics: {
    range: 'range=last24h',
    ask: (sources, text) => answerMetrics(sources, scope, readParameters(text, metricsQuery)),
    expected: (filters, range, scene) =>
      recount(
        range,
        heldEvents(filters, scene),
        [range.span, range.previous].flatMap((span) => heldVisits(filters, scene, span)),
        'EUR',
      ),
  },
  country: {
    range: 'range=last24h&limit=1000',
    ask: (sources, text) => answerBreakdown(sources, scope, readParameters(text, listQuery), 'country'),
    expected: (filters, range, scene) =>
      recountBreakdown(counted(filters, range, scene), 'country', undefined),
  },
  browser_version: {
    range: 'range=yesterday&limit=1000',
    ask: (sources, text) =>
      answerBreakdown(sources, scope, readParameters(text, listQuery), 'browser_version'),
    expected: (filters, range, scene) => {
      const { field, parent } = dimensionOf('browser_version');
      return recountBreakdown(counted(filters, range, scene), field, parent);
    },
  },
  pages: {
    range: 'range=last24h&limit=1000',
    ask: (sources, text) => answerPages(sources, scope, readParameters(text, listQuery)),
    // The title of a page is the latest, whatever the filters.
    expected: (filters, range, scene) => {
      const all = recountPages(counted([], range, scene));
      const titleOf = ({ origin, path }: { readonly origin: string; readonly path: string }) =>
        all.find((page) => page.origin === origin && page.path === path)?.title;
      return recountPages(counted(filters, range, scene)).map((page) => ({ ...page, title: titleOf(page) }));
    },
  },
  'pages/entry_exit': {
    range: 'range=last24h&limit=1000',
    ask: (sources, text) =>
      answerEntryExit(sources, scope, readParameters(`${text}&mode=exit`, entryExitQuery)),
    // The title of a page is the latest, whatever the filters.
    expected: (filters, range, scene) =>
      recountEntryExit({ ...counted(filters, range, scene), events: scene.events }, 'exit'),
  },
  active_users: {
    range: 'days=2',
    ask: (sources, text) => {
      const { answer, schema } = activeUsersInsight(sources);
      return answer(scope, readParameters(text, schema));
    },
    expected: (filters, _range, scene) => activeOn(filters, scene),
  },
  events: {
    range: 'range=last24h&limit=30&cursor=10',
    ask: async (sources, text) => {
      const { answer, schema } = eventListInsight(sources);
      return ((await answer(scope, readParameters(text, schema))) as { readonly id: string }[]).map(idOf);
    },
    expected: (filters, range, scene) => eventsIn(filters, range, scene).filter(sent).slice(10, 40).map(idOf),
  },
  'events/names': {
    range: 'range=last24h',
    ask: (sources, text) => {
      const { answer, schema } = eventNamesInsight(sources);
      return answer(scope, readParameters(text, schema));
    },
    expected: (filters, range, scene) =>
      counts(eventsIn(filters, range, scene).map(({ name }) => name)).map(([name, count]) => ({
        name,
        count,
      })),
  },
  'events/properties': {
    range: 'range=last24h',
    ask: (sources, text) => {
      const { answer, schema } = propertyKeysInsight(sources);
      return answer(scope, readParameters(text, schema));
    },
    expected: (filters, range, scene) => {
      const events = eventsIn(filters, range, scene).filter(sent);
      const keys = events.flatMap(propertiesOf).map(([key]) => key);
      return counts(keys).map(([name, count]) => ({ name, count }));
    },
  },
  'events/property_values': {
    range: 'range=last24h',
    ask: (sources, text) => {
      const { answer, schema } = propertyValuesInsight(sources);
      return answer(scope, readParameters(`${text}&property=k`, schema));
    },
    expected: (filters, range, scene) => {
      const events = eventsIn(filters, range, scene).filter(sent);
      const found = events.flatMap(propertiesOf).filter(([key]) => key === 'k');
      return counts(found.map(([, value]) => value)).map(([value, count]) => ({ value, count }));
    },
  },
  sessions: {
    range: 'range=last24h&limit=20&cursor=5',
    ask: async (sources, text) => {
      const { answer, schema } = sessionListInsight(sources);
      const rows = (await answer(scope, readParameters(text, schema))) as { readonly id: string }[];
      return rows.map(({ id }) => id.replace(/^0+/, ''));
    },
    expected: (filters, { span }, scene) =>
      heldVisits(filters, scene, span)
        .map(({ id, startedAtMs }) => ({ id: id.replace(/^0+/, ''), startedAtMs }))
        .sort((a, b) => b.startedAtMs - a.startedAtMs || idOf(a) - idOf(b))
        .slice(5, 25)
        .map(({ id }) => id),
  },
};
