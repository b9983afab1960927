import { must } from '../../../infra/assert.ts';
import { BROWSER } from '../../cluster/site-of-cluster.ts';
import { longFilters } from '../neighbour.ts';
import type { Attack, AttackRequest, AttackTarget } from './attack.ts';

const LONG_QUESTIONS = ['pages', 'metrics', 'active_users', 'events/names'];
const JSON_TYPE = { 'content-type': 'application/json' };
/** The largest amount that fits into a double exactly, in minor units. */
const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;
const WRONG_SECRET = `sec_${'0'.repeat(40)}`;
/** An escape that ends in the middle of a character of several bytes. */
const BROKEN_ESCAPE = '%E0%A4%A';

/** The baseline of all attacks: the service shares its cores with the attacker. */
export const BUSY_CORE = 'a busy core';

/** The worst that is allowed, one entry for each way; a new one is one more entry. */
export const ATTACKS: readonly Attack[] = [
  {
    name: BUSY_CORE,
    aim: 'the machine: an attacker that computes and sends next to nothing, with which the others are compared',
    inFlight: 1,
    isBusy: true,
    request: () => ({ method: 'GET', path: '/healthz/live', headers: {} }),
  },
  {
    name: 'long questions',
    aim: 'the store: 40 readers of one team ask about a year, with an expression that every row is matched against',
    inFlight: 40,
    request: (target, index) =>
      question(target, index, `${LONG_QUESTIONS[index % LONG_QUESTIONS.length]}`, {
        range: '12m',
        filters: longFilters(index),
      }),
  },
  {
    name: 'large amounts',
    aim: 'sums: payments at the limit of an amount',
    inFlight: 16,
    request: (target, index) =>
      event(target, index, 'revenue', { __revenue: AMOUNT_MAX, __orderId: `order-${index}` }),
  },
  {
    name: 'deep query',
    aim: 'the parser of query strings: brackets within brackets',
    inFlight: 16,
    request: (target, index) => ({
      method: 'GET',
      path: `/insights/${target.sites[0]}/metrics?filters${'[]'.repeat(1_500)}=${index}`,
      headers: readerHeaders(target, index),
    }),
  },
  {
    name: 'slashes as origin',
    aim: 'the comparison of origins: 60,000 slashes',
    inFlight: 16,
    request: (target, index) =>
      withHeaders(event(target, index, 'click', {}), { origin: `https://${'/'.repeat(60_000)}` }),
  },
  {
    name: 'long formula',
    aim: 'the parser of formulas: 60 KB',
    inFlight: 16,
    // In a body: a query string cannot be as long.
    request: ({ sites, clients }, index) => ({
      method: 'POST',
      path: `/manage/projects/${sites[0]}/dashboards/none/reports`,
      headers: { ...headersOf(clients.root), ...JSON_TYPE },
      body: JSON.stringify({
        name: `report ${index}`,
        chartType: 'linear',
        range: '30d',
        series: [{ name: '*' }],
        formula: `${'('.repeat(30_000)}A${')'.repeat(30_000)}`,
      }),
    }),
  },
  {
    name: 'open bodies',
    aim: 'memory and connections: 350 large bodies without credentials that never end',
    inFlight: 350,
    opened: 65_536,
    request: () => ({
      method: 'POST',
      path: '/track/batch',
      headers: JSON_TYPE,
      body: ' '.repeat(4_000_000),
    }),
  },
  {
    name: 'broken escapes',
    aim: 'the normalization of paths: escapes that are none, one event at a time',
    inFlight: 16,
    request: (target, index) =>
      event(target, index, 'screen_view', { __path: `/${BROKEN_ESCAPE.repeat(200)}${index}` }),
  },
  {
    name: 'broken escapes in batches',
    aim: 'one turn of the event loop: 2,000 such events',
    inFlight: 4,
    request: (target, index) => ({
      ...event(target, index, 'screen_view', {}),
      path: '/track/batch',
      body: JSON.stringify(
        Array.from({ length: 2_000 }, (_, place) =>
          bodyOf('screen_view', { __path: `/${BROKEN_ESCAPE.repeat(100)}${index}-${place}` }),
        ),
      ),
    }),
  },
  {
    name: 'nested brackets',
    aim: 'the parser of bodies: 4 MB of brackets',
    inFlight: 4,
    request: (target, index) => ({
      ...event(target, index, 'click', {}),
      path: '/track/batch',
      body: '['.repeat(4_000_000),
    }),
  },
  {
    name: 'large filters',
    aim: 'the text of statements: all sites of a team, each question with many values',
    inFlight: 40,
    request: (target, index) => {
      const value = Array.from({ length: 100 }, (_, place) => `/page-${index}-${place}`);
      const filters = Array.from({ length: 10 }, () => ({ name: 'path', operator: 'isNot', value }));
      const site = target.sites[index % target.sites.length] ?? '';
      return {
        method: 'GET',
        path: `/insights/${site}/pages?${new URLSearchParams({ range: '12m', filters: JSON.stringify(filters) })}`,
        headers: headersOf(target.clients.root),
      };
    },
  },
  {
    name: 'fat profiles',
    aim: 'memory of exports: profiles with as many properties as they may have, and exports that include them',
    inFlight: 8,
    request: (target, index) => (index % 4 === 0 ? exportOf(target) : fatProfile(target, index)),
  },
  {
    name: 'wrong passphrases',
    aim: 'the hashing of passphrases: each from another network',
    inFlight: 32,
    request: (_, index) => ({
      method: 'POST',
      path: '/sign-in',
      headers: { ...JSON_TYPE, ...fromNetwork(index) },
      body: JSON.stringify({ email: `user-${index}@example.org`, passphrase: `wrong-passphrase-${index}` }),
    }),
  },
  {
    name: 'strangers',
    aim: 'connections: 1,000 of them, with wrong secrets from as many networks',
    inFlight: 1_000,
    request: ({ sites, clients }, index) => {
      const headers = {
        ...headersOf({ id: clients.read.id, secret: WRONG_SECRET }),
        ...fromNetwork(index),
        ...JSON_TYPE,
      };
      return index % 2 === 0
        ? { method: 'GET', path: `/insights/${sites[0]}/live`, headers }
        : { method: 'POST', path: '/track', headers, body: JSON.stringify(bodyOf('click', {})) };
    },
  },
  // Last: its settings stay in force.
  {
    name: 'filters with many stars',
    aim: 'the site’s own filters: paths of stars, matched against every event',
    inFlight: 16,
    request: (target, index) =>
      index === 0
        ? starredFilters(target)
        : event(target, index, 'screen_view', { __path: `/${'a'.repeat(1_000)}${index}` }),
  },
];

export function attackOf(name: string): Attack {
  return must(
    ATTACKS.find((attack) => attack.name === name),
    `no attack ${name}`,
  );
}

function headersOf({ id, secret }: { readonly id: string; readonly secret: string }): Record<string, string> {
  return { 'service-client-id': id, 'service-client-secret': secret };
}

/** Each reader has its own limit. */
function readerHeaders({ readers, clients }: AttackTarget, index: number): Record<string, string> {
  return headersOf({ id: readers[index % readers.length] ?? clients.read.id, secret: clients.read.secret });
}

/** A proxy of this machine says that the sender is there. */
function fromNetwork(index: number): Record<string, string> {
  return { 'x-forwarded-for': `2001:db8:${(index >> 16).toString(16)}:${(index & 0xffff).toString(16)}::1` };
}

function withHeaders(request: AttackRequest, headers: Readonly<Record<string, string>>): AttackRequest {
  return { ...request, headers: { ...request.headers, ...headers } };
}

function question(
  target: AttackTarget,
  index: number,
  path: string,
  parameters: Readonly<Record<string, string>>,
): AttackRequest {
  return {
    method: 'GET',
    path: `/insights/${target.sites[0]}/${path}?${new URLSearchParams(parameters)}`,
    headers: readerHeaders(target, index),
  };
}

function bodyOf(name: string, properties: object): object {
  return { type: 'track', payload: { name, properties } };
}

function event(
  { clients }: AttackTarget,
  index: number,
  name: string,
  properties: Readonly<Record<string, unknown>>,
): AttackRequest {
  return {
    method: 'POST',
    path: '/track',
    headers: {
      ...headersOf(clients.write),
      ...JSON_TYPE,
      'user-agent': BROWSER,
      'service-client-ip': `198.51.${(index >> 8) & 0xff}.${index & 0xff}`,
    },
    body: JSON.stringify(bodyOf(name, properties)),
  };
}

function fatProfile(target: AttackTarget, index: number): AttackRequest {
  const properties = Object.fromEntries(
    Array.from({ length: 50 }, (_, place) => [`property-${place}`, 'x'.repeat(500)]),
  );
  const profileId = `fat-${index % 500}`;
  const isEvent = index % 2 === 0;
  const body = isEvent
    ? { type: 'track', payload: { name: 'click', profileId } }
    : { type: 'identify', payload: { profileId, properties } };
  return { ...event(target, index, 'click', {}), body: JSON.stringify(body) };
}

function exportOf({ sites, clients }: AttackTarget): AttackRequest {
  return {
    method: 'GET',
    path: `/export/events?${new URLSearchParams({ projectId: sites[0] ?? '', includes: 'profile', limit: '1000' })}`,
    headers: headersOf(clients.root),
  };
}

function starredFilters({ sites, clients }: AttackTarget): AttackRequest {
  const paths = Array.from({ length: 100 }, (_, place) => `/${'*a'.repeat(100)}${place}`);
  return {
    method: 'PATCH',
    path: `/manage/projects/${sites[0]}`,
    headers: { ...headersOf(clients.root), ...JSON_TYPE },
    body: JSON.stringify({ filters: { paths } }),
  };
}
