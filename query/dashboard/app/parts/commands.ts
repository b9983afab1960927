import { go, isFiltered, look, UNFILTERED } from '../data/address.ts';
import { PERIODS } from '../data/periods.ts';
import { isShared, signedIn } from '../data/session.ts';
import { neighbourOf, todayIn } from '../data/spans.ts';

/** Something that can be done by name or by key. */
export interface Command {
  readonly title: string;
  readonly group: 'View' | 'Period' | 'Compare' | 'Site' | 'Filter' | 'Person' | 'Page' | 'Event';
  readonly key?: string;
  readonly run: () => void;
}

interface NamedView {
  readonly id: string;
  readonly title: string;
  readonly key?: string;
}

/** Every command that makes sense now. */
export function commandsNow(views: readonly NamedView[]): readonly Command[] {
  const { site, period } = look.value;
  const sites = signedIn.value?.sites ?? [];
  const timezone = sites.find(({ id }) => id === site)?.timezone ?? 'UTC';
  const today = todayIn(timezone, Date.now());
  const neighbours = (
    [
      ['Previous period', -1, 'ArrowLeft'],
      ['Next period', 1, 'ArrowRight'],
    ] as const
  ).flatMap(([title, direction, key]): Command[] => {
    const next = neighbourOf(period, direction, today);
    return next === undefined
      ? []
      : [{ title, group: 'Period', key, run: () => go({ period: next, interval: undefined }) }];
  });
  return [
    // A shared link has one view.
    ...(isShared.value ? [] : views).map(
      ({ id, title, key }): Command => ({
        title,
        group: 'View',
        ...(key !== undefined && { key }),
        run: () => go({ view: id, own: {} }),
      }),
    ),
    ...PERIODS.map(
      ({ range, title, key }): Command => ({
        title,
        group: 'Period',
        key,
        run: () => go({ period: { range }, interval: undefined }),
      }),
    ),
    ...neighbours,
    { title: 'Compare with the previous period', group: 'Compare', run: () => go({ compare: 'previous' }) },
    { title: 'Compare with last year', group: 'Compare', run: () => go({ compare: 'year' }) },
    { title: 'Compare with nothing', group: 'Compare', run: () => go({ compare: 'off' }) },
    {
      title: 'Add a filter',
      group: 'Filter',
      key: 'F',
      run: () => document.querySelector<HTMLElement>('[data-key=F]')?.click(),
    },
    ...(isFiltered(look.value)
      ? [{ title: 'Remove all filters', group: 'Filter', key: 'X', run: () => go(UNFILTERED) } as const]
      : []),
    ...sites
      .filter(({ id }) => id !== site)
      .map(
        ({ id, name }): Command => ({
          title: `Go to ${name}`,
          group: 'Site',
          run: () => go({ site: id, ...UNFILTERED, own: {} }),
        }),
      ),
  ];
}

/** Display name of a key. */
export function keyName(key: string): string {
  return { ArrowLeft: '←', ArrowRight: '→' }[key] ?? key;
}
