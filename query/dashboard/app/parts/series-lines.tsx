import type { ChartRow } from '../../../export/charts-api.ts';
import { bucket, count, NONE, shortCount } from '../data/format.ts';

const WIDTH = 640;
const HEIGHT = 220;
const AXIS = { left: 46, bottom: 20 };
const COLOURS = 6;
/** Maximum number of rows drawn separately; the rest is in the table. */
const DRAWN_MAX = 6;

/** The name of a row: the values of its breakdown, or its event. */
export function rowTitle({ names, event }: ChartRow): string {
  const known = names.map((name) => name ?? NONE);
  return known.length === 1 && known[0] === event.name ? event.name : known.join(', ');
}

export function seriesColour(index: number): string {
  return `var(--series-${(index % COLOURS) + 1})`;
}

/** Rows over time, as lines, areas or bars. */
export function SeriesLines({
  rows,
  shape,
}: {
  readonly rows: readonly ChartRow[];
  readonly shape: 'linear' | 'area' | 'bar';
}) {
  const drawn = rows.slice(0, DRAWN_MAX);
  const dates = drawn[0]?.data.map(({ date }) => date) ?? [];
  const values = drawn.flatMap(({ data }) => data.map((point) => point.count));
  const most = Math.max(1, ...values);
  const least = Math.min(0, ...values);
  const plotWidth = WIDTH - AXIS.left;
  const plotHeight = HEIGHT - AXIS.bottom;
  const isBars = shape === 'bar';
  const step = plotWidth / Math.max(1, isBars ? dates.length : dates.length - 1);
  const x = (index: number) => AXIS.left + index * step;
  const y = (value: number) => plotHeight * (1 - (value - least) / (most - least)) + 4;
  const [first, last] = [dates[0], dates.at(-1)];
  return (
    <>
      <svg
        class="lines"
        viewBox={`0 0 ${WIDTH} ${HEIGHT + 4}`}
        role="img"
        aria-label={`${drawn.map(rowTitle).join(', ')}, from ${first === undefined ? '' : bucket(first, 'long')} to ${last === undefined ? '' : bucket(last, 'long')}`}
      >
        {[least, (most + least) / 2, most].map((value) => (
          <g key={value} class="lines-grid">
            <line x1={AXIS.left} x2={WIDTH} y1={y(value)} y2={y(value)} />
            <text x={AXIS.left - 6} y={y(value) + 4} text-anchor="end">
              {shortCount(value)}
            </text>
          </g>
        ))}
        {drawn.map((row, index) =>
          isBars ? (
            <g key={row.id} fill={seriesColour(index)}>
              {row.data.map((point, at) => {
                const width = Math.max(1, (step * 0.8) / drawn.length);
                const top = y(Math.max(0, point.count));
                return (
                  <rect
                    key={point.date}
                    x={x(at) + step * 0.1 + index * width}
                    y={top}
                    width={width}
                    height={Math.abs(y(point.count) - y(0))}
                  >
                    <title>{`${rowTitle(row)}, ${bucket(point.date, 'long')}: ${count(point.count)}`}</title>
                  </rect>
                );
              })}
            </g>
          ) : (
            <g key={row.id}>
              {shape === 'area' && (
                <path
                  class="lines-area"
                  fill={seriesColour(index)}
                  d={`M${x(0)},${y(0)} ${row.data.map((point, at) => `L${x(at)},${y(point.count)}`).join(' ')} L${x(row.data.length - 1)},${y(0)} Z`}
                />
              )}
              <polyline
                class="lines-line"
                stroke={seriesColour(index)}
                points={row.data.map((point, at) => `${x(at)},${y(point.count)}`).join(' ')}
              />
            </g>
          ),
        )}
        {first !== undefined && (
          <text class="lines-date" x={AXIS.left} y={HEIGHT}>
            {bucket(first)}
          </text>
        )}
        {last !== undefined && last !== first && (
          <text class="lines-date" x={WIDTH} y={HEIGHT} text-anchor="end">
            {bucket(last)}
          </text>
        )}
      </svg>
      <Legend rows={drawn} left={rows.length - drawn.length} />
    </>
  );
}

/** The meanings of the colours, with the figure of each row over the whole range. */
export function Legend({ rows, left }: { readonly rows: readonly ChartRow[]; readonly left: number }) {
  return (
    <ul class="legend">
      {rows.map((row, index) => (
        <li key={row.id}>
          <span class="legend-dot" style={{ background: seriesColour(index) }} aria-hidden="true" />
          {rowTitle(row)} <strong>{count(row.metrics.count)}</strong>
        </li>
      ))}
      {left > 0 && <li class="quiet">and {count(left)} more</li>}
    </ul>
  );
}
