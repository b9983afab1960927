import type { ListedSession } from '../../../insights/session-list-api.ts';
import { go, goOwn, look } from '../data/address.ts';
import { count, country, duration, money, time, path as written } from '../data/format.ts';
import { site } from '../data/session.ts';
import { Journey } from './journey.tsx';
import { Modal } from './modal.tsx';

/** Sessions as rows. One of them opens as a journey, which leads to the person. */
export function SessionRows({
  rows,
  more,
  hasVisitor = true,
}: {
  readonly rows: readonly ListedSession[];
  readonly more: (() => void) | undefined;
  /** False: all are of one person, named above. */
  readonly hasVisitor?: boolean;
}) {
  const opened = look.value.own.session;
  const { timezone = 'UTC', currency = 'USD' } = site.value ?? {};
  const visitor = rows.find(({ id }) => id === opened)?.profileId ?? '';
  return (
    <>
      <ol class="sessions">
        {rows.map((session) => (
          <li key={session.id}>
            <button type="button" class="session" onClick={() => goOwn({ session: session.id })}>
              <span class="session-when">{time(session.startedAt, timezone)}</span>
              <span class="session-who">
                {!hasVisitor ? null : session.profileId === '' ? (
                  <span class="quiet">Visitor {session.deviceId.slice(0, 6)}</span>
                ) : (
                  <strong>{session.profileId}</strong>
                )}
              </span>
              <span class="session-path" title={`${session.entryPath} to ${session.exitPath}`}>
                {written(session.entryPath)}
                {session.exitPath !== session.entryPath && ` → ${written(session.exitPath)}`}
              </span>
              <span class="session-from quiet">
                {[
                  session.referrerName,
                  session.country && country(session.country),
                  session.browser,
                  session.os,
                ]
                  .filter((text) => text !== '')
                  .join(' · ')}
              </span>
              <span class="session-figures">
                {count(session.screenViews)} {session.screenViews === 1 ? 'view' : 'views'}
                {session.events > 0 &&
                  ` · ${count(session.events)} ${session.events === 1 ? 'event' : 'events'}`}{' '}
                · {duration(session.duration / 1_000)}
                {session.revenue !== 0 && ` · ${money(session.revenue, currency)}`}
              </span>
            </button>
          </li>
        ))}
      </ol>
      {more !== undefined && (
        <button type="button" class="button" onClick={more}>
          Show more
        </button>
      )}
      {opened !== undefined && (
        <Modal title="Session" onClose={() => goOwn({ session: undefined })}>
          {hasVisitor && visitor !== '' && (
            <p>
              <button
                type="button"
                class="plain"
                onClick={() => go({ view: 'people', own: { person: visitor } })}
              >
                Everything about {visitor} →
              </button>
            </p>
          )}
          <Journey of={`sessions/${encodeURIComponent(opened)}`} />
        </Modal>
      )}
    </>
  );
}
