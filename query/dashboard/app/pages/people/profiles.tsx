import type { ListedProfile, ProfileSort } from '../../../../people/profile-list-api.ts';
import { go, goOwn, hashOf, look } from '../../data/address.ts';
import { count, money, NONE, time } from '../../data/format.ts';
import { useRows } from '../../data/rows.ts';
import { addressOf } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { Empty, Failure, Loading } from '../../parts/notice.tsx';
import { SearchField } from '../../parts/search-field.tsx';

const PAGE = '50';
const SORTS: readonly { readonly sort: ProfileSort; readonly title: string }[] = [
  { sort: 'lastSeen', title: 'Seen last' },
  { sort: 'sessions', title: 'Most sessions' },
  { sort: 'revenue', title: 'Most revenue' },
  { sort: 'createdAt', title: 'Newest' },
];

/** The name of a person: the given name, else the e-mail, else the id. */
export function personName({
  id,
  firstName,
  lastName,
  email,
}: Pick<ListedProfile, 'id' | 'firstName' | 'lastName' | 'email'>): string {
  return [firstName, lastName].filter((part) => part !== '').join(' ') || email || id;
}

/** The address of a person's page. */
export function personAddress(id: string): string {
  return hashOf({ ...look.value, view: 'people', own: { person: id } });
}

/** The people of all time, as they are searched and sorted. */
export function Profiles() {
  const { search = '', sort = 'lastSeen' } = look.value.own;
  const { timezone = 'UTC', currency = 'USD' } = site.value ?? {};
  const { rows, error, more, retry } = useRows<ListedProfile>(
    addressOf(`insights/${encodeURIComponent(look.value.site)}/profiles`, {
      limit: PAGE,
      sort,
      search: search === '' ? undefined : search,
    }),
  );
  return (
    <>
      <div class="list-tools">
        <SearchField
          label="Search by name, e-mail or id"
          value={search}
          onSearch={(text) => goOwn({ search: text }, { replace: true })}
        />
        <select
          class="narrow"
          aria-label="Order"
          value={sort}
          onChange={(event) => goOwn({ sort: event.currentTarget.value }, { replace: true })}
        >
          {SORTS.map((one) => (
            <option key={one.sort} value={one.sort}>
              {one.title}
            </option>
          ))}
        </select>
      </div>
      {rows === undefined && error === undefined && <Loading rows={10} />}
      {rows === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      {rows?.length === 0 &&
        (search === '' ? (
          <Empty>
            Nobody is known by id yet. A page or a server says who a visitor is with <code>identify</code>, or
            with a <code>profileId</code> beside an event.
          </Empty>
        ) : (
          <Empty>Nobody has “{search}” in the name, the e-mail address or the id.</Empty>
        ))}
      <ol class="people">
        {rows?.map((profile) => (
          <li key={profile.id}>
            <a
              class="person"
              href={personAddress(profile.id)}
              onClick={(event) => {
                event.preventDefault();
                go({ own: { person: profile.id } });
              }}
            >
              <span class="person-name">
                <strong>{personName(profile)}</strong>
                <span class="quiet">
                  {[profile.email, profile.id].find((text) => text !== '' && text !== personName(profile))}
                </span>
              </span>
              <span class="person-seen quiet">
                {profile.lastSeen === null ? 'never seen' : `seen ${time(profile.lastSeen, timezone)}`}
              </span>
              <span class="person-sessions">
                {count(profile.sessions)} {profile.sessions === 1 ? 'session' : 'sessions'}
              </span>
              <span class="person-revenue">
                {profile.revenue === 0 ? <span class="quiet">{NONE}</span> : money(profile.revenue, currency)}
              </span>
            </a>
          </li>
        ))}
      </ol>
      {more !== undefined && (
        <button type="button" class="button" onClick={more}>
          Show more
        </button>
      )}
    </>
  );
}
