import type { RefObject } from 'preact';
import { look } from '../data/address.ts';
import { commaText } from '../data/comma-text.ts';
import { download } from '../data/download.ts';
import { FIGURES, type FigureWords } from '../data/figures.ts';
import { filtersText, type SeriesAnswer } from '../data/questions.ts';
import { addressOf } from '../data/service.ts';
import { Menu } from './menu.tsx';

const MARGIN = 24;
const TITLE_HEIGHT = 40;

/** Saves the shown data: the figures over time, the chart as an image, and the events of the period. */
export function ExportMenu({
  answer,
  figure,
  canvas,
}: {
  readonly answer: SeriesAnswer | undefined;
  readonly figure: FigureWords;
  readonly canvas: RefObject<HTMLCanvasElement | null>;
}) {
  const { site, period } = look.value;
  const name = `${site}-${period.range === 'custom' ? `${period.startDate}-${period.endDate}` : period.range}`;
  const saveFigures = () => {
    if (answer === undefined) return;
    const rows = answer.series.map((bucket) => [
      bucket.date,
      ...FIGURES.map((one) => bucket[one.name] ?? ''),
    ]);
    const text = commaText([['date', ...FIGURES.map((one) => one.name)], ...rows]);
    download(`${name}.csv`, new Blob([text], { type: 'text/csv' }));
  };
  const saveImage = () => {
    if (canvas.current !== null)
      imageOf(canvas.current, `${site} · ${figure.title}`, (image) =>
        download(`${name}-${figure.name}.png`, image),
      );
  };
  return (
    <Menu label="Export" align="end">
      {(close) => (
        <ul class="choices">
          <li>
            <button
              type="button"
              disabled={answer === undefined}
              onClick={() => {
                saveFigures();
                close();
              }}
            >
              Figures over time (CSV)
            </button>
          </li>
          <li>
            <button
              type="button"
              disabled={answer === undefined}
              onClick={() => {
                saveImage();
                close();
              }}
            >
              Chart (PNG)
            </button>
          </li>
          {period.startDate !== undefined && (
            <li>
              <a
                href={addressOf('export/events.csv', {
                  projectId: site,
                  start: period.startDate,
                  end: period.endDate,
                  filters: filtersText(look.value.filters),
                  segment: look.value.segment,
                  safe: 'true',
                })}
                download={`${name}-events.csv`}
              >
                Events of these days (CSV)
              </a>
            </li>
          )}
        </ul>
      )}
    </Menu>
  );
}

/** The chart with a title, on the ground of the page. */
function imageOf(chart: HTMLCanvasElement, title: string, save: (image: Blob) => void): void {
  const scale = devicePixelRatio;
  const image = document.createElement('canvas');
  image.width = chart.width + 2 * MARGIN * scale;
  image.height = chart.height + (2 * MARGIN + TITLE_HEIGHT) * scale;
  const ctx = image.getContext('2d');
  if (ctx === null) return;
  const style = getComputedStyle(document.documentElement);
  ctx.fillStyle = style.getPropertyValue('--surface');
  ctx.fillRect(0, 0, image.width, image.height);
  ctx.fillStyle = style.getPropertyValue('--text');
  ctx.font = `600 ${18 * scale}px system-ui, sans-serif`;
  ctx.fillText(title, MARGIN * scale, (MARGIN + 18) * scale);
  ctx.drawImage(chart, MARGIN * scale, (MARGIN + TITLE_HEIGHT) * scale);
  image.toBlob((made) => made !== null && save(made), 'image/png');
}
