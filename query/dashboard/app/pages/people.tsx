import { goOwn, look } from '../data/address.ts';
import { Tabs } from '../parts/tabs.tsx';
import { Group } from './people/group.tsx';
import { Groups } from './people/groups.tsx';
import { Person } from './people/person.tsx';
import { Profiles } from './people/profiles.tsx';

const LISTS = [
  { id: 'people', title: 'People' },
  { id: 'groups', title: 'Groups' },
] as const;

/** The people that a site knows by id, and their groups. One of them opens as a page. */
export function People() {
  const { person, group, list = 'people' } = look.value.own;
  if (person !== undefined) return <Person id={person} />;
  if (group !== undefined) return <Group id={group} />;
  return (
    <section class="card" aria-label="People and groups">
      <Tabs
        label="Lists"
        tabs={LISTS}
        chosen={list}
        panelId="people-list"
        onChoose={(id) =>
          goOwn({ list: id === 'people' ? undefined : id, search: undefined }, { replace: true })
        }
      />
      <div id="people-list" role="tabpanel" aria-label={list}>
        {list === 'groups' ? <Groups /> : <Profiles />}
      </div>
    </section>
  );
}
