import type { ComponentType } from 'preact';
import { go, hashOf, look } from '../data/address.ts';
import { signedIn } from '../data/session.ts';
import { Audit } from './settings/audit.tsx';
import { Clients } from './settings/clients.tsx';
import { Goals } from './settings/goals.tsx';
import { Health } from './settings/health.tsx';
import { Integrations } from './settings/integrations.tsx';
import { Marks } from './settings/marks.tsx';
import { Privacy } from './settings/privacy.tsx';
import { Segments } from './settings/segments.tsx';
import { Shares } from './settings/shares.tsx';
import { SiteSettings } from './settings/site-settings.tsx';
import { Sites } from './settings/sites.tsx';
import { Users } from './settings/users.tsx';
import { Widget } from './settings/widget.tsx';

interface Section {
  readonly id: string;
  readonly title: string;
  readonly Content: ComponentType;
  /** Shown to read-only users. */
  readonly isForAll?: boolean;
}

/** The sections, each one file. */
const SECTIONS: readonly Section[] = [
  { id: 'site', title: 'Site', Content: SiteSettings },
  { id: 'sites', title: 'All sites', Content: Sites },
  { id: 'clients', title: 'Clients and keys', Content: Clients },
  { id: 'users', title: 'People with access', Content: Users },
  { id: 'shares', title: 'Sharing', Content: Shares },
  { id: 'widget', title: 'Widget', Content: Widget, isForAll: true },
  { id: 'goals', title: 'Goals', Content: Goals },
  { id: 'segments', title: 'Segments', Content: Segments },
  { id: 'marks', title: 'Marks on charts', Content: Marks },
  { id: 'integrations', title: 'Integrations', Content: Integrations },
  { id: 'privacy', title: 'Privacy', Content: Privacy },
  { id: 'audit', title: 'Audit log', Content: Audit },
  { id: 'health', title: 'System health', Content: Health, isForAll: true },
];

/** The settings of a site and of the service, a section at a time. */
export function Settings() {
  const isRoot = signedIn.value?.role === 'root';
  const sections = SECTIONS.filter(({ isForAll }) => isRoot || isForAll);
  const chosen = sections.find(({ id }) => id === look.value.own.section) ?? sections[0];
  if (chosen === undefined) return null;
  const addressOf = (id: string) => hashOf({ ...look.value, own: { section: id } });
  const open = (id: string) => go({ own: { section: id } });
  const { Content } = chosen;
  return (
    <div class="settings">
      <nav aria-label="Settings">
        <select
          class="settings-select"
          aria-label="Section"
          value={chosen.id}
          onChange={(event) => open(event.currentTarget.value)}
        >
          {sections.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
        <ul class="settings-list">
          {sections.map(({ id, title }) => (
            <li key={id}>
              <a
                href={addressOf(id)}
                aria-current={id === chosen.id ? 'page' : undefined}
                onClick={(event) => {
                  event.preventDefault();
                  open(id);
                }}
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
        {!isRoot && <p class="quiet">What can be changed is shown to whoever manages the site.</p>}
      </nav>
      <div class="page">
        <Content key={`${look.value.site} ${chosen.id}`} />
      </div>
    </div>
  );
}
