import type { ComponentType } from 'preact';
import { later } from '../parts/later.tsx';
import { Overview } from './overview.tsx';

/** A view of a site. A view is one file in this folder, and a line here. */
export interface View {
  readonly id: string;
  readonly title: string;
  /** The key that opens it. */
  readonly key?: string;
  readonly Page: ComponentType;
}

const plain = (load: () => Promise<ComponentType>) => later<object>(load);

/** The views of the dashboard, in the order of the navigation. The first one is loaded with the page. */
export const VIEWS: readonly View[] = [
  { id: 'overview', title: 'Overview', key: 'O', Page: Overview },
  {
    id: 'realtime',
    title: 'Realtime',
    key: 'R',
    Page: plain(async () => (await import('./realtime.tsx')).Realtime),
  },
  {
    id: 'events',
    title: 'Events',
    key: 'E',
    Page: plain(async () => (await import('./events.tsx')).Events),
  },
  {
    id: 'sessions',
    title: 'Sessions',
    key: 'J',
    Page: plain(async () => (await import('./sessions.tsx')).Sessions),
  },
  {
    id: 'people',
    title: 'People',
    Page: plain(async () => (await import('./people.tsx')).People),
  },
  {
    id: 'funnels',
    title: 'Funnels',
    key: 'U',
    Page: plain(async () => (await import('./funnels.tsx')).Funnels),
  },
  {
    id: 'flows',
    title: 'Flows',
    Page: plain(async () => (await import('./flows.tsx')).Flows),
  },
  {
    id: 'retention',
    title: 'Retention',
    key: 'B',
    Page: plain(async () => (await import('./retention.tsx')).Retention),
  },
  {
    id: 'revenue',
    title: 'Revenue',
    Page: plain(async () => (await import('./revenue.tsx')).Revenue),
  },
  {
    id: 'reports',
    title: 'Reports',
    Page: plain(async () => (await import('./reports.tsx')).Reports),
  },
  {
    id: 'installation',
    title: 'Installation',
    key: 'I',
    Page: plain(async () => (await import('./installation.tsx')).Installation),
  },
  {
    id: 'settings',
    title: 'Settings',
    Page: plain(async () => (await import('./settings.tsx')).Settings),
  },
];
