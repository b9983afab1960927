import type { GroupAnswer } from '../../../../api.ts';
import type { GroupMetricsAnswer } from '../../../../people/group-list-api.ts';
import { go, goOwn, look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { count, money, NONE } from '../../data/format.ts';
import { questionOf } from '../../data/questions.ts';
import { addressOf } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { Failure, Loading, PartialMark } from '../../parts/notice.tsx';
import { ViewTools } from '../../parts/view-tools.tsx';
import { personAddress, personName } from './profiles.tsx';

const MEMBERS = '100';

/** One group: its figures in the period, and its members. */
export function Group({ id }: { readonly id: string }) {
  const path = `groups/${encodeURIComponent(id)}`;
  const base = `insights/${encodeURIComponent(look.value.site)}/${path}`;
  const { answer, error, isLoading, retry } = useAnswer<GroupAnswer>(addressOf(base, { limit: MEMBERS }));
  const metrics = useAnswer<GroupMetricsAnswer>(questionOf(look.value, `${path}/metrics`));
  const { currency = 'USD' } = site.value ?? {};
  const figures = metrics.answer;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Members', answer?.total === null ? NONE : answer && count(answer.total)],
    ['Active members', figures && count(figures.activeMembers)],
    ['Sessions', figures && count(figures.sessions)],
    ['Events', figures && count(figures.events)],
    ['Views', figures && count(figures.screenViews)],
    ['Revenue', figures && money(figures.revenue, currency)],
  ];
  return (
    <div class="page">
      <ViewTools />
      <p>
        <button type="button" class="plain" onClick={() => goOwn({ group: undefined, list: 'groups' })}>
          ← All groups
        </button>
      </p>
      {isLoading && <Loading rows={6} />}
      {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      {answer !== undefined && (
        <section class="card" aria-labelledby="group-name">
          <header class="person-head">
            <h2 id="group-name">{answer.name}</h2>
            <p class="quiet">
              {[answer.type, answer.id].filter((text) => text !== '' && text !== answer.name).join(' · ')}
            </p>
          </header>
          {(answer.partial || figures?.partial) && <PartialMark />}
          <dl class="facts">
            {facts.map(([title, value]) => (
              <div key={title}>
                <dt>{title}</dt>
                <dd>{value ?? NONE}</dd>
              </div>
            ))}
          </dl>
          <p class="person-properties">
            {Object.entries(answer.properties).map(([key, value]) => (
              <span class="property" key={key}>
                {key}: {value}
              </span>
            ))}
          </p>
          <ol class="people">
            {answer.members.map((member) => (
              <li key={member.id}>
                <a
                  class="person"
                  href={personAddress(member.id)}
                  onClick={(event) => {
                    event.preventDefault();
                    go({ own: { person: member.id } });
                  }}
                >
                  <span class="person-name">
                    <strong>{personName(member)}</strong>
                    <span class="quiet">{member.email}</span>
                  </span>
                </a>
              </li>
            ))}
          </ol>
          {answer.total !== null && answer.total > answer.members.length && (
            <p class="quiet">
              The first {count(answer.members.length)} of {count(answer.total)} members, by id.
            </p>
          )}
        </section>
      )}
    </div>
  );
}
