import type { GroupTypesAnswer, ListedGroup } from '../../../../people/group-list-api.ts';
import { goOwn, look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { count } from '../../data/format.ts';
import { useRows } from '../../data/rows.ts';
import { addressOf } from '../../data/service.ts';
import { Empty, Failure, Loading } from '../../parts/notice.tsx';
import { SearchField } from '../../parts/search-field.tsx';

const PAGE = '50';

/** The groups of people, such as companies. */
export function Groups() {
  const { search = '', type } = look.value.own;
  const base = `insights/${encodeURIComponent(look.value.site)}/groups`;
  const types = useAnswer<GroupTypesAnswer>(addressOf(`${base}/types`));
  const { rows, error, more, retry } = useRows<ListedGroup>(
    addressOf(base, { limit: PAGE, type, search: search === '' ? undefined : search }),
  );
  return (
    <>
      <div class="list-tools">
        <SearchField
          label="Search by name or id"
          value={search}
          onSearch={(text) => goOwn({ search: text }, { replace: true })}
        />
        <select
          class="narrow"
          aria-label="Type"
          value={type ?? ''}
          onChange={(event) => goOwn({ type: event.currentTarget.value }, { replace: true })}
        >
          <option value="">All types</option>
          {types.answer
            ?.filter((one) => one.type !== '')
            .map((one) => (
              <option key={one.type} value={one.type}>
                {one.type} ({count(one.groups)})
              </option>
            ))}
        </select>
      </div>
      {rows === undefined && error === undefined && <Loading rows={10} />}
      {rows === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      {rows?.length === 0 && (
        <Empty>
          {search === '' && type === undefined
            ? 'There are no groups yet. A server makes one with the operation “group” of the tracking API.'
            : 'No group matches.'}
        </Empty>
      )}
      <ol class="people">
        {rows?.map((group) => (
          <li key={group.id}>
            <button type="button" class="person" onClick={() => goOwn({ group: group.id })}>
              <span class="person-name">
                <strong>{group.name}</strong>
                {group.name !== group.id && <span class="quiet">{group.id}</span>}
              </span>
              <span class="person-seen quiet">{group.type}</span>
              <span class="person-sessions">
                {count(group.members)} {group.members === 1 ? 'member' : 'members'}
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
    </>
  );
}
