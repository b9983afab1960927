import { must } from '../../../infra/assert.ts';
import type { Law } from '../judge.ts';
import { type HostileSender, type HostileSources, hostileDraft, type Probe } from './drafts.ts';
import type { HostilePlace } from './places.ts';
import { allPlaces } from './plan.ts';

/** The sender, path, kind and name of the place, the family of the value, and which one of it by its label. */
type Attack = readonly [sender: HostileSender, place: string, family: string, label: RegExp];

/** Requests that once cost seconds, ended a process or stopped a lane. Every run sends them first. */
const ATTACKS: readonly Attack[] = [
  ['page', '/track header origin', 'slashes', / x…x, [56]\d{4}/],
  ['none', '/track header forwarded', 'semicolons', /, [56]\d{4}/],
  ['viewer', '/insights/{projectId}/pages query name filters', 'nested names', /filters\[\]… 2\d{4} deep/],
  ['viewer', '/insights/{projectId}/pages query filters', 'nested arrays', / 25000 deep/],
  ['read', '/export/charts query formula', 'spaces', / x…x, [56]\d{4}/],
  ['read', '/export/charts query formula', 'nested parentheses', / 25000 deep/],
  ['page', '/track body track.payload.properties.__path', 'broken names', / \/\?…x, [56]\d{4}/],
  ['page', '/track/batch batch track.payload.properties.__path', 'broken names', / \/\?…x, 1500/],
  ['none', '/track/batch whole body', 'nested arrays', / 4\d{6} bytes/],
  ['none', '/track/batch whole body', 'empty arrays', / 4\d{6} bytes/],
  ['write', '/track/batch batch track.payload.properties.__revenue', 'numbers', / 9007199254740991,/],
  ['root', '/manage/projects/{projectId}/aliases query alias', 'equals', /, [56]\d{4}/],
];
const SEEDS_MAX = 5_000;

/** The probes of the attacks: for each the first seed whose value is the wanted one. */
export function foundBefore(law: Law, sources: HostileSources): readonly Probe[] {
  const places = allPlaces(law);
  return ATTACKS.map(([sender, where, family, label]) => {
    const isMeant = ({ operation, kind, name }: HostilePlace) =>
      `${operation.path} ${kind} ${name}` === where;
    const place = must(places.find(isMeant), `no place ${where}`);
    for (let seed = 1; seed < SEEDS_MAX; seed += 1) {
      const probe: Probe = { place, family, sender, seed };
      if (label.test(` ${hostileDraft(sources, probe).label}`)) return probe;
    }
    throw new Error(`no value of ${where} is like ${label}`);
  });
}
