import type { ProfileAnswer } from '../../../../api.ts';
import type { ProfileMetricsAnswer } from '../../../../people/profile-metrics-api.ts';
import { goOwn, look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { count, decimal, duration, money, NONE, percent, time } from '../../data/format.ts';
import { addressOf } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { Journey } from '../../parts/journey.tsx';
import { Failure, Loading, PartialMark } from '../../parts/notice.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { ActivityCalendar } from './activity-calendar.tsx';
import { PersonSessions } from './person-sessions.tsx';
import { personName } from './profiles.tsx';

const MINUTE_S = 60;
const SHOWN = [
  { id: 'sessions', title: 'Sessions' },
  { id: 'journey', title: 'Every event' },
] as const;

/** Everything that is known about one person. */
export function Person({ id }: { readonly id: string }) {
  const of = `profiles/${encodeURIComponent(id)}`;
  const base = `insights/${encodeURIComponent(look.value.site)}/${of}`;
  const { answer, error, isLoading, retry } = useAnswer<ProfileAnswer>(addressOf(base));
  const shown = look.value.own.shown === 'journey' ? 'journey' : 'sessions';
  return (
    <div class="page">
      <p>
        <button
          type="button"
          class="plain"
          onClick={() => goOwn({ person: undefined, shown: undefined, session: undefined })}
        >
          ← All people
        </button>
      </p>
      {isLoading && <Loading rows={6} />}
      {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      {answer !== undefined && (
        <>
          <Figures base={base} profile={answer} />
          <ActivityCalendar profileId={id} />
          <section class="card" aria-label="What the person did">
            <Tabs
              label="What the person did"
              tabs={SHOWN}
              chosen={shown}
              panelId="person-shown"
              onChoose={(next) => goOwn({ shown: next === 'sessions' ? undefined : next }, { replace: true })}
            />
            <div id="person-shown" role="tabpanel" aria-label={shown}>
              {shown === 'sessions' ? <PersonSessions base={base} /> : <Journey of={of} />}
            </div>
          </section>
        </>
      )}
    </div>
  );
}

function Figures({ base, profile }: { readonly base: string; readonly profile: ProfileAnswer }) {
  const { answer } = useAnswer<ProfileMetricsAnswer>(addressOf(`${base}/metrics`));
  const { timezone = 'UTC', currency = 'USD' } = site.value ?? {};
  const when = (iso: string | null | undefined) => (iso ? time(iso, timezone) : NONE);
  const figures: readonly (readonly [title: string, value: string | undefined])[] = [
    ['Sessions', answer && count(answer.sessions)],
    ['Views', answer && count(answer.screenViews)],
    ['Other events', answer && count(answer.conversionEvents)],
    ['Days active', answer && count(answer.uniqueDaysActive)],
    ['Average session', answer && duration(answer.avgSessionDurationMin * MINUTE_S)],
    ['Events a session', answer && decimal(answer.avgEventsPerSession)],
    ['Bounce rate', answer && percent(answer.bounceRate)],
    ['Revenue', answer && money(answer.revenue, currency)],
  ];
  const properties = Object.entries(profile.properties);
  return (
    <section class="card" aria-labelledby="person-name">
      <header class="person-head">
        <h2 id="person-name">{personName(profile)}</h2>
        <p class="quiet">
          {[profile.email, profile.id]
            .filter((text) => text !== '' && text !== personName(profile))
            .join(' · ')}
        </p>
        <p class="quiet">
          First seen {when(answer?.firstSeen)} · last seen {when(answer?.lastSeen)}
        </p>
      </header>
      {answer?.partial && <PartialMark />}
      <dl class="facts">
        {figures.map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value ?? NONE}</dd>
          </div>
        ))}
      </dl>
      {(properties.length > 0 || profile.groups.length > 0) && (
        <p class="person-properties">
          {profile.groups.map((group) => (
            <button
              type="button"
              class="property link"
              key={group}
              onClick={() => goOwn({ person: undefined, group })}
            >
              {group}
            </button>
          ))}
          {properties.map(([key, value]) => (
            <span class="property" key={key}>
              {key}: {value}
            </span>
          ))}
        </p>
      )}
    </section>
  );
}
