import type { JourneyAnswer } from '../../../people/journey-api.ts';
import { look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { duration, time, path as written } from '../data/format.ts';
import { addressOf } from '../data/service.ts';
import { site } from '../data/session.ts';
import { Empty, Failure, Loading } from './notice.tsx';

const EVENTS_MAX = '500';

/** Every event of a session or of a person, oldest first, with the time between them. `of` is a path below the site's. */
export function Journey({ of }: { readonly of: string }) {
  const { timezone = 'UTC' } = site.value ?? {};
  const address = addressOf(`insights/${encodeURIComponent(look.value.site)}/${of}/journey`, {
    limit: EVENTS_MAX,
  });
  const { answer, error, isLoading, retry } = useAnswer<JourneyAnswer>(address);
  if (isLoading) return <Loading rows={5} />;
  if (answer === undefined) return error === undefined ? null : <Failure error={error} retry={retry} />;
  if (answer.length === 0) return <Empty>No event is kept.</Empty>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard.
    <section class="table-scroll" tabIndex={0} aria-label="Journey">
      <ol class="journey">
        {answer.map(({ id, name, path, title, createdAt, properties = {}, sincePreviousMs }) => (
          <li key={id}>
            <span class="quiet journey-time">
              {sincePreviousMs === null
                ? time(createdAt, timezone)
                : `+ ${duration(sincePreviousMs / 1_000)}`}
            </span>
            <span class="journey-what">
              <strong>{name === 'screen_view' ? written(path) : name}</strong>{' '}
              <span class="quiet">{name === 'screen_view' ? title : written(path)}</span>
              {Object.entries(properties).map(([key, value]) => (
                <span class="property" key={key}>
                  {key}: {value}
                </span>
              ))}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
