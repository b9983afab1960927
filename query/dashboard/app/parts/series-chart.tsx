import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { bucket, month, NONE } from '../data/format.ts';
import type { DrawnSeries } from '../data/series.ts';

const HEIGHT = 260;
const HEIGHT_NARROW = 200;
const NARROW = 520;
const TICK_WIDTH = 84;
/** The least top of an axis of whole numbers, so that its steps are whole, too. */
const WHOLE_MIN = 4;
const WHOLE_STEPS = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((digit) => digit * 10 ** power),
).flat();
const FONT = '12px system-ui, sans-serif';

/** A figure over time, with its comparison as a ghost. Arrow keys read it point by point. */
export function SeriesChart({
  title,
  drawn,
  format,
  isMonthly = false,
  isWhole = false,
  isBars = false,
  canvas,
}: {
  readonly title: string;
  readonly drawn: DrawnSeries;
  readonly format: (value: number) => string;
  readonly isMonthly?: boolean;
  /** True if values are whole numbers, and so the steps of the axis. */
  readonly isWhole?: boolean;
  /** Bars instead of a line, for independent counts. */
  readonly isBars?: boolean;
  /** Receives the canvas, for an image of it. */
  readonly canvas?: RefObject<HTMLCanvasElement | null>;
}) {
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const pointed = useSignal<{ readonly at: number; readonly left: number } | undefined>(undefined);
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const draw = () => {
      plot.current?.destroy();
      const made = new uPlot(
        optionsOf(element, { drawn, format, isMonthly, isWhole, isBars }),
        dataOf(isBars ? { ...drawn, openAt: undefined } : drawn),
        element,
      );
      made.setCursor({ left: -10, top: -10 });
      plot.current = made;
      if (canvas !== undefined) canvas.current = made.ctx.canvas;
    };
    draw();
    const point = () => {
      const { idx, left = -1 } = plot.current?.cursor ?? {};
      pointed.value = typeof idx === 'number' && left >= 0 ? { at: idx, left } : undefined;
    };
    element.addEventListener('pointermove', point);
    const leave = () => {
      pointed.value = undefined;
    };
    element.addEventListener('pointerleave', leave);
    let width = element.clientWidth;
    const resized = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      draw();
    });
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => {
      element.removeEventListener('pointermove', point);
      element.removeEventListener('pointerleave', leave);
      resized.disconnect();
      scheme.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [drawn, format, isMonthly, isWhole, isBars, canvas, pointed]);
  const step = (to: number) => {
    const chart = plot.current;
    if (chart === undefined) return;
    const at = Math.max(0, Math.min(drawn.labels.length - 1, to));
    const left = chart.valToPos(at, 'x');
    chart.setCursor({ left, top: chart.valToPos(drawn.values[at] ?? 0, 'y') });
    pointed.value = { at, left };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = pointed.value?.at;
    const last = drawn.labels.length - 1;
    const next = {
      ArrowRight: at === undefined ? 0 : at + 1,
      ArrowLeft: at === undefined ? last : at - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    step(next);
  };
  const at = pointed.value?.at;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a group of form fields would say something else.
    <div
      class="chart"
      role="group"
      aria-label={`${title} over time. Arrow keys read the points.`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys read the points.
      tabIndex={0}
      onKeyDown={onKeyDown}
      onBlur={() => {
        pointed.value = undefined;
      }}
    >
      <div class="chart-plot" ref={root} aria-hidden="true" />
      {at !== undefined && (
        <ChartPoint drawn={drawn} at={at} left={pointed.value?.left ?? 0} format={format} />
      )}
    </div>
  );
}

function ChartPoint({
  drawn,
  at,
  left,
  format,
}: {
  readonly drawn: DrawnSeries;
  readonly at: number;
  readonly left: number;
  readonly format: (value: number) => string;
}) {
  const { labels, values, compared, comparedLabels, openAt, marks } = drawn;
  const [label = '', value, before, beforeLabel] = [labels[at], values[at], compared[at], comparedLabels[at]];
  const isRight = at > labels.length / 2;
  return (
    <div
      class={isRight ? 'chart-point before' : 'chart-point'}
      role="status"
      style={{ insetInlineStart: `${left}px` }}
    >
      <p>
        <span>{bucket(label, 'long')}</span>
        <strong>{typeof value === 'number' ? format(value) : NONE}</strong>
      </p>
      {beforeLabel !== undefined && typeof before === 'number' && (
        <p class="quiet">
          <span>{bucket(beforeLabel, 'long')}</span>
          <span>{format(before)}</span>
        </p>
      )}
      {openAt === at && <p class="quiet">not over yet</p>}
      {marks
        .filter((mark) => mark.at === at)
        .map((mark) => (
          <p key={mark.date} class="chart-note">
            {mark.title}
          </p>
        ))}
    </div>
  );
}

/** The present bucket is a separate line, because it is drawn with dashes. */
function dataOf({ labels, values, compared, openAt }: DrawnSeries): uPlot.AlignedData {
  const closed = values.map((value, index) => (index === openAt ? null : value));
  const open = values.map((value, index) =>
    openAt !== undefined && (index === openAt || index === openAt - 1) ? value : null,
  );
  return [labels.map((_label, index) => index), [...compared], closed, open];
}

function optionsOf(
  element: HTMLElement,
  {
    drawn: { labels, marks, openAt },
    format,
    isMonthly,
    isWhole,
    isBars,
  }: {
    drawn: DrawnSeries;
    format: (value: number) => string;
    isMonthly: boolean;
    isWhole: boolean;
    isBars: boolean;
  },
): uPlot.Options {
  const colour = (name: string) => getComputedStyle(element).getPropertyValue(name).trim();
  const width = Math.max(200, element.clientWidth);
  const [accent, ghost, line, quiet] = ['--accent', '--ghost', '--line', '--quiet'].map(colour);
  const points = (fill: string | undefined): uPlot.Series.Points => ({
    show: labels.length <= 2,
    size: 6,
    ...(fill !== undefined && { fill }),
  });
  const bars = isBars ? uPlot.paths.bars?.({ size: [0.7, 40], radius: 0.15 }) : undefined;
  const shape = bars === undefined ? {} : { paths: bars };
  const labelOf = (index: number) => (isMonthly ? month(labels[index] ?? '') : bucket(labels[index] ?? ''));
  return {
    width,
    height: width < NARROW ? HEIGHT_NARROW : HEIGHT,
    padding: [12, 24, 0, 8],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    scales: {
      x: { time: false, range: isBars ? [-0.5, labels.length - 0.5] : [0, Math.max(1, labels.length - 1)] },
      y: { range: (_plot, _min, max) => [0, Math.max(max * 1.08, isWhole ? WHOLE_MIN : 0) || 1] },
    },
    axes: [
      {
        stroke: quiet ?? '',
        font: FONT,
        grid: { show: false },
        ticks: { show: false },
        gap: 8,
        size: 34,
        splits: () => ticksOf(labels.length, Math.max(2, Math.floor((width - 60) / TICK_WIDTH))),
        values: (_plot, splits) => splits.map(labelOf),
      },
      {
        stroke: quiet ?? '',
        font: FONT,
        grid: { stroke: line ?? '', width: 1 },
        ticks: { show: false },
        space: 48,
        ...(isWhole && { incrs: WHOLE_STEPS }),
        size: (_plot, values) => 14 + 7 * Math.max(2, ...(values ?? []).map((text) => text.length)),
        values: (_plot, splits) => splits.map(format),
      },
    ],
    series: [
      {},
      { stroke: ghost ?? '', width: 1.5, points: points(ghost) },
      {
        ...shape,
        stroke: accent ?? '',
        width: isBars ? 0 : 2,
        fill: isBars ? (accent ?? '') : colour('--accent-veil'),
        points: points(accent),
      },
      {
        stroke: accent ?? '',
        width: 2,
        dash: [4, 4],
        points: { ...points(accent), show: openAt === 0 || labels.length <= 2 },
      },
    ],
    hooks: {
      draw: [
        (plot) => {
          for (const { at } of marks) drawMark(plot, at, quiet ?? '');
        },
      ],
    },
  };
}

/** A dashed line with a knob on top at the bucket of a reference. */
function drawMark({ ctx, bbox, valToPos }: uPlot, at: number, colour: string): void {
  const x = valToPos(at, 'x', true);
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = scale;
  ctx.setLineDash([3 * scale, 3 * scale]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.beginPath();
  ctx.arc(x, bbox.top, 4 * scale, 0, 2 * Math.PI);
  ctx.fill();
  ctx.restore();
}

/** Evenly spaced whole indexes, `most` of them at most, from the first one on. */
function ticksOf(length: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(length / most));
  return Array.from({ length: Math.ceil(length / step) }, (_tick, index) => index * step);
}
