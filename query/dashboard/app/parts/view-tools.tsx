import type { ComponentChildren } from 'preact';
import { FilterBar, FilterButton } from './filter-bar.tsx';
import { PeriodMenu } from './period-menu.tsx';
import { SegmentMenu } from './segment-menu.tsx';

/** The tools above a view: period, filters, segment, and its own. `period` takes the place of the menu of periods. */
export function ViewTools({
  period = <PeriodMenu />,
  children,
}: {
  readonly period?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  return (
    <>
      <div class="toolbar">
        {period}
        <FilterButton />
        <SegmentMenu />
        {children}
      </div>
      <FilterBar />
    </>
  );
}
