import { count, country } from '../data/format.ts';
import outlines from './world.json';

const SHADES = 5;

/** A country that has something to show. */
export interface MapCountry {
  /** ISO 3166, two letters. */
  readonly code: string;
  readonly value: number;
  /** Called when it is chosen; without it, it cannot be. */
  readonly choose?: () => void;
}

/** Countries shaded by their values, counted in `unit`. The list beside the map says the same in words. */
export function WorldMap({
  countries,
  unit,
}: {
  readonly countries: readonly MapCountry[];
  readonly unit: 'sessions' | 'events';
}) {
  const byCode = new Map(countries.map((one) => [one.code, one]));
  const most = Math.max(1, ...countries.map(({ value }) => value));
  return (
    <figure class="world">
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing has no fields. */}
      <svg
        viewBox="0 0 1000 500"
        role="group"
        aria-label={`${unit === 'sessions' ? 'Sessions' : 'Events'} by country`}
      >
        {Object.entries(outlines).map(([code, outline]) => {
          const found = byCode.get(code);
          if (found === undefined) return <path key={code} class="world-land" d={outline} />;
          const { value, choose } = found;
          const words = `${country(code)}: ${count(value)}`;
          const shade = { '--shade': Math.ceil((SHADES * value) / most) / SHADES };
          if (choose === undefined)
            return (
              <path key={code} class="world-land seen" d={outline} style={shade}>
                <title>{words}</title>
              </path>
            );
          return (
            // biome-ignore lint/a11y/useSemanticElements: a path cannot be a button.
            <path
              key={code}
              class="world-land seen"
              data-country={code}
              data-sessions={value}
              d={outline}
              style={shade}
              tabindex={0}
              role="button"
              aria-label={words}
              onClick={choose}
              onKeyDown={(event) => {
                if (event.key === 'Enter' || event.key === ' ') choose();
              }}
            >
              <title>{words}</title>
            </path>
          );
        })}
      </svg>
      <figcaption class="quiet">
        Darker countries have more {unit}, up to {count(most)}.
      </figcaption>
    </figure>
  );
}
