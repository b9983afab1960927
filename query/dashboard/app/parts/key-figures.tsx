import type { MetricsFigures } from '../../../api.ts';
import { goOwn, look } from '../data/address.ts';
import { changeOf, FIGURES, type FigureWords, figureNamed } from '../data/figures.ts';
import { percent } from '../data/format.ts';
import { site } from '../data/session.ts';

/** The figures of the period, each with its change. A click on one draws it. */
export function KeyFigures({
  now,
  before,
}: {
  readonly now: MetricsFigures;
  /** Undefined where nothing is compared, or while it is not known. */
  readonly before: MetricsFigures | undefined;
}) {
  const drawn = figureNamed(look.value.own.figure);
  return (
    <div class="figures">
      {FIGURES.filter((figure) => isShown(figure, now, before)).map((figure) => (
        <KeyFigure key={figure.name} figure={figure} now={now} before={before} isDrawn={figure === drawn} />
      ))}
    </div>
  );
}

function KeyFigure({
  figure,
  now,
  before,
  isDrawn,
}: {
  readonly figure: FigureWords;
  readonly now: MetricsFigures;
  readonly before: MetricsFigures | undefined;
  readonly isDrawn: boolean;
}) {
  const { name, title, format, better } = figure;
  const currency = site.value?.currency ?? 'USD';
  const value = now[name] ?? 0;
  const earlier = before?.[name];
  const change = earlier === undefined ? undefined : changeOf(value, earlier);
  return (
    <button
      type="button"
      class="figure"
      data-figure={name}
      aria-pressed={isDrawn}
      onClick={() => goOwn({ figure: name === FIGURES[0]?.name ? undefined : name }, { replace: true })}
    >
      <span class="figure-title">{title}</span>
      <span class="figure-value">{format(value, currency)}</span>
      <span class="figure-change">
        {change !== undefined && <Change change={change} better={better} />}
        {earlier !== undefined && (earlier !== 0 || value !== 0) && (
          <span class="quiet">from {format(earlier, currency)}</span>
        )}
      </span>
    </button>
  );
}

/** A change with its direction; its colour says whether it is good. */
function Change({ change, better }: { readonly change: number; readonly better: FigureWords['better'] }) {
  const isSame = Math.abs(change) < 0.0005;
  const isGood = better === 'neither' || isSame ? undefined : change > 0 === (better === 'more');
  const mark = isSame ? '' : change > 0 ? '↑' : '↓';
  const kind = isGood === undefined ? 'change' : isGood ? 'change good' : 'change bad';
  return (
    <span class={kind}>
      <span class="unseen">{isSame ? 'unchanged, ' : change > 0 ? 'up ' : 'down '}</span>
      <span aria-hidden="true">{mark} </span>
      {percent(Math.abs(change) * 100)}
    </span>
  );
}

function isShown(
  { name, only }: FigureWords,
  now: MetricsFigures,
  before: MetricsFigures | undefined,
): boolean {
  if (only === 'goal') return now[name] !== undefined;
  return only !== 'present' || now[name] !== 0 || (before?.[name] ?? 0) !== 0;
}
