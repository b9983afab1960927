import type { AnyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import { pointOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import {
  referenceAnswer,
  referenceChange,
  referenceCreation,
  referencesAnswer,
  shownRecord,
} from './catalog-api.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { recordEndpoints } from './record-endpoints.ts';
import { namedSite, siteInBody } from './record-parents.ts';

const REFERENCES_MAX = 1_000;

/** `/manage/references`: dates to mark on the charts of a team's sites. */
export function referenceEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const zones = new Zones();
  const instantOf = (date: string, timezone: string) => {
    const point = pointOf(date, zones.of(timezone));
    if (point !== undefined) return new Date(point.fromMs).toISOString();
    throw new RejectError('invalid', 'date: expected YYYY-MM-DD or an ISO time of the years 1902 to 2298');
  };
  return recordEndpoints(deps, {
    ...siteInBody(deps),
    what: 'reference',
    mirror: deps.catalog.references,
    shown: shownRecord,
    about: {
      list: {
        summary: 'List references',
        description:
          'Returns the references of the team, or of one site, newest first. A reference is a date to mark on charts, such as a release.',
      },
      create: {
        summary: 'Create a reference',
        description:
          'Marks a date on the charts of a site. A date without a time is midnight in the time zone of the site. Maximum: 1,000 references per site.',
      },
      get: { summary: 'Get a reference', description: 'The reference may belong to any site of the team.' },
      change: { summary: 'Update a reference', description: 'Given fields replace the stored ones.' },
      delete: { summary: 'Delete a reference', description: 'Returns the deleted reference.' },
    },
    answers: { list: referencesAnswer, one: referenceAnswer },
    creation: referenceCreation,
    change: referenceChange,
    limits: [{ max: REFERENCES_MAX, what: 'references of the site' }],
    make: ({ body: { title, description, date } }, site) => {
      const at = instantOf(date, site.timezone);
      return {
        record: ({ id, ...times }) => ({ id, ...namedSite(site), title, description, date: at, ...times }),
      };
    },
    changed: (current, { client, body: { title, description, date } }) => ({
      ...current,
      title: title ?? current.title,
      description: description ?? current.description,
      date:
        date === undefined
          ? current.date
          : instantOf(date, ownSite(deps, client, current.projectId).timezone),
    }),
  });
}
