import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../infra/clock.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import {
  type EntityAnswer,
  EntityQuestions,
  encodeEntityAnswer,
  encodeStoredProfilesAnswer,
  entityLookupSubjectOf,
} from '../../ingest/entity-lookup.ts';
import { groupQuery } from '../api.ts';
import { readParameters } from '../http/parameters.ts';
import { History } from '../snapshot/history.ts';
import { awayHistory, type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { hotViewOver } from '../testing/hot-view.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { noteErasure } from '../testing/stored-profiles.ts';
import { Zones } from '../time/zone.ts';
import { answerGroup, nextMembers } from './entities.ts';

const MEMBERS = 100_000;
/** Memory limit of a statement: the store rejects one that needs more. A block of rows takes some of it. */
const MEMORY_MAX_BYTES = 16 * 1024 * 1024;
const scope = { site: modelSite('site'), zone: new Zones().of('UTC'), nowMs: Date.now() };
let fixture: HistoryStore;
/** The answer of the groups' owner. */
let answer: EntityAnswer = { kind: 'absent' };
/** The owner's answer to whether the store has every profile. */
let stored: 'stored' | 'unavailable' = 'stored';

beforeAll(async () => {
  fixture = await startHistoryStore();
  const { store } = fixture;
  const profiles = (site: string, first: number, count: number, groups: string, version: number) =>
    store.command(
      `INSERT INTO profiles (projectId, id, firstName, groups, version)
       SELECT {site:String}, concat('member-', leftPad(toString(number), 6, '0')), 'Ada', ${groups}, {version:UInt64}
       FROM numbers({first:UInt64}, {count:UInt64})`,
      { site, first, count, version },
    );
  await profiles('site', 0, MEMBERS, "['large']", 2);
  // Not counted: versions from before the assignment, profiles of other groups, and profiles of another site.
  await profiles('site', 0, 5_000, '[]', 1);
  await profiles('site', MEMBERS, 5_000, "['other', 'largest']", 1);
  await profiles('other', 0, 100, "['large']", 1);
});

afterAll(async () => {
  await fixture.stop();
});

const hot = hotViewOver(async () => {
  throw new Error('not asked');
}, 1);

function sourcesOf(history: History) {
  const asked = async (subject: string) =>
    subject === entityLookupSubjectOf(0)
      ? encodeEntityAnswer(answer)
      : encodeStoredProfilesAnswer({ kind: stored });
  return { history, hot, records: new EntityQuestions({ ask: asked }, ServiceLanes.fixed(1), 5_000) };
}

function limitedHistory(): History {
  const limits = { timeMaxMs: 30_000, memoryMaxBytes: MEMORY_MAX_BYTES };
  const { store } = fixture;
  return new History({
    shards: [{ store, streams: store, isReachable: () => true }],
    limits,
    metrics: new Metrics(),
  });
}

function ask(id: string, text = '', history: History = limitedHistory()) {
  const query = readParameters(text, groupQuery);
  return answerGroup(sourcesOf(history), scope, { ...query, id });
}

test('the members of a large group come in pages, each once, whatever their number', async () => {
  answer = {
    kind: 'found',
    record: {
      ...{ kind: 'group', id: 'large', type: 'company', name: 'Large', properties: [] },
      ...{ createdAtMs: 0, updatedAtMs: systemClock.nowMs() },
    },
  };
  const ids: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const text: string = `limit=1000${cursor && `&cursor=${cursor}`}`;
    const page = await ask('large', text);
    expect(page).toMatchObject({ type: 'company', name: 'Large', total: MEMBERS });
    ids.push(...page.members.map(({ id }) => id));
    cursor = nextMembers(readParameters(text, groupQuery), page);
    // The pages in the middle are like the others.
    if (ids.length === 3_000) {
      const last = `member-${String(MEMBERS - 2_500).padStart(6, '0')}`;
      cursor = `id_${Buffer.from(last).toString('base64url')}`;
    }
  }
  const numbers = ids.map((id) => Number(id.slice('member-'.length)));
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
  expect(numbers).toEqual([...range(0, 3_000), ...range(MEMBERS - 2_499, MEMBERS)]);
  const behind = await ask('large', `limit=2&cursor=${MEMBERS - 1}`);
  expect(behind.members.map(({ id }) => id)).toEqual([`member-${String(MEMBERS - 1).padStart(6, '0')}`]);
});

test('a group of which only its members are known exists, and one without members and updates does not', async () => {
  answer = { kind: 'absent' };
  expect(await ask('other')).toMatchObject({
    id: 'other',
    name: 'other',
    type: '',
    createdAt: null,
    total: 5_000,
  });
  await expect(ask('nothing')).rejects.toMatchObject({ status: 404 });
});

test('a person who is being erased is no member any more', async () => {
  await noteErasure(fixture.store, 'site', `member-${MEMBERS}`);
  const { members, total } = await ask('other', 'limit=1');
  expect([total, members.map(({ id }) => id)]).toEqual([4_999, [`member-${MEMBERS + 1}`]]);
});

test('without the word of an owner the members of the store are shown, and marked', async () => {
  stored = 'unavailable';
  expect(await ask('largest', 'limit=1')).toMatchObject({ partial: true, members: [{ firstName: 'Ada' }] });
  stored = 'stored';
  expect(await ask('largest', 'limit=1')).not.toHaveProperty('partial');
});

test('while the store is away the group is answered without its members, and marked', async () => {
  answer = {
    kind: 'found',
    record: { kind: 'group', id: 'g', type: '', name: 'g', properties: [], createdAtMs: 0, updatedAtMs: 0 },
  };
  expect(await ask('g', '', awayHistory())).toMatchObject({ members: [], total: null, partial: true });
});
