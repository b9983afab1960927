import type { RefObject } from 'preact';
import { useCallback, useMemo } from 'preact/hooks';
import { look } from '../data/address.ts';
import { figureNamed } from '../data/figures.ts';
import type { SeriesAnswer } from '../data/questions.ts';
import { drawnSeries, wallTime } from '../data/series.ts';
import { site } from '../data/session.ts';
import { SeriesChart } from './series-chart.tsx';

/** The chosen figure over time. */
export function OverTime({
  answer,
  compared,
  canvas,
}: {
  readonly answer: SeriesAnswer;
  readonly compared: SeriesAnswer | undefined;
  readonly canvas: RefObject<HTMLCanvasElement | null>;
}) {
  const { timezone = 'UTC', currency = 'USD' } = site.value ?? {};
  const { name, title, format, isWhole = false } = figureNamed(look.value.own.figure);
  const drawn = useMemo(
    () =>
      drawnSeries(answer, compared, {
        figure: name,
        now: wallTime(Date.now(), timezone),
        wallOf: (iso) => wallTime(Date.parse(iso), timezone),
      }),
    [answer, compared, name, timezone],
  );
  const formatted = useCallback((value: number) => format(value, currency), [format, currency]);
  return (
    <SeriesChart
      title={title}
      drawn={drawn}
      format={formatted}
      isWhole={isWhole}
      isMonthly={answer.interval === 'month'}
      canvas={canvas}
    />
  );
}
