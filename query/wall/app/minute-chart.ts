import { part } from './part.ts';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 300;
const HEIGHT = 100;
/** The part of its place that a bar fills. */
const FILL = 0.72;

interface Minute {
  readonly visitors: number;
}

/** Draws a bar for each minute; the last one is not over yet. Nothing for no minutes. */
export function drawMinutes(minutes: readonly Minute[], format: (value: number) => string): void {
  const peak = Math.max(0, ...minutes.map(({ visitors }) => visitors));
  const chart = part('minutes');
  const place = WIDTH / Math.max(1, minutes.length);
  chart.replaceChildren(
    ...minutes.map(({ visitors }, index) => {
      const bar = document.createElementNS(SVG, 'rect');
      const height = peak === 0 ? 0 : (visitors / peak) * HEIGHT;
      const values = { x: index * place, y: HEIGHT - height, width: place * FILL, height };
      for (const [name, value] of Object.entries(values)) bar.setAttribute(name, value.toFixed(2));
      return bar;
    }),
  );
  const words = minutes.length === 0 ? '' : `up to ${format(peak)} a minute`;
  part('peak').textContent = words;
  chart.setAttribute('aria-label', `Visitors by minute, last 30 minutes: ${words || 'not known'}`);
}
