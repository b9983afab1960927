import { changeSomething, damaged, encoded, oddBody } from '../../ingest/testing/body-damage.ts';
import { plain, textOf } from '../../ingest/testing/json-text.ts';
import type { Credential } from '../cluster/client.ts';
import { CLIENT_ID, CLIENT_SECRET, type Draft, type RequestSources } from './requests.ts';
import { oneOf } from './values.ts';

/** Turns a good request into one that no client should send, in place; the result may still be good. */
export function mutate(sources: RequestSources, draft: Draft): void {
  const ways: readonly ((sources: RequestSources, draft: Draft) => void)[] = [
    ...(draft.node === undefined ? [] : [mutateBody, mutateBody, mutateBody, mutateType]),
    ...(draft.operation.access === 'public' ? [] : [mutateCredentials]),
    ...(draft.operation.path.includes('{') ? [mutatePath] : []),
    ...(draft.operation.parameters.some(({ in: place }) => place === 'query')
      ? [mutateQuery, mutateQuery]
      : []),
    ...(draft.method === 'GET' ? [addBody] : [mutateMatch]),
    mutateQuery,
    mutateHeaders,
    mutateMethod,
  ];
  for (let times = sources.random.chance(0.8) ? 1 : 2; times > 0; times -= 1)
    oneOf(sources.random, ways)(sources, draft);
}

/** The same, but only the sender is wrong, which costs the service nothing. */
export function mutateCredentials({ random, cast }: RequestSources, draft: Draft): void {
  const kept = draft.headers.filter(
    ([name]) => name !== CLIENT_ID && name !== CLIENT_SECRET && name !== 'origin',
  );
  const decoy = oneOf(random, cast.decoys);
  draft.isStray = true;
  const family = random.chance(0.2) ? 'openpanel-client-' : 'service-client-';
  const as = ({ id, secret }: Credential): [string, string][] => [
    [`${family}id`, id],
    [`${family}secret`, secret],
  ];
  const wrong = `sec_${random.below(1e9).toString(16).padStart(40, '0')}`;
  const choices: readonly (() => [string, string][])[] = [
    () => as(oneOf(random, [cast.write, cast.read, cast.root, cast.foreign])),
    () => as(oneOf(random, [cast.write, cast.read, cast.root, cast.foreign])),
    () => as({ id: decoy.id, secret: wrong }),
    () => as({ id: decoy.id, secret: decoy.secret.toUpperCase() }),
    () => as({ id: decoy.id, secret: oneOf(random, ODD_TEXTS) }),
    () => as({ id: oneOf(random, ODD_TEXTS), secret: decoy.secret }),
    () => as({ id: `${decoy.id} `, secret: ` ${decoy.secret}` }),
    () => as({ id: decoy.id.toUpperCase(), secret: wrong }),
    () => [[CLIENT_ID, decoy.id]],
    () => [[CLIENT_SECRET, decoy.secret]],
    () => [...as(decoy), ...as({ id: decoy.id, secret: wrong })],
    () => [
      [CLIENT_ID, decoy.id],
      ['origin', oneOf(random, ODD_TEXTS)],
    ],
    () => [['authorization', `Basic ${Buffer.from(`${decoy.id}:${wrong}`).toString('base64')}`]],
    () => [],
  ];
  draft.headers = [...kept, ...oneOf(random, choices)()];
}

/** Values for headers and other places where one character is one byte, without any that would end a header. */
const ODD_TEXTS = [
  '0',
  '-1',
  '*',
  '"',
  '""',
  "'",
  '\\',
  ';',
  ',',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  'toString',
  '\xff\xfe',
  '\xc3\x28',
  '\xed\xa0\x80',
  '\t',
  '\x7f',
  '%00',
  '%',
  '{}',
  '[]',
  '00000000-0000-4000-8000-000000000000',
  `x${'y'.repeat(1500)}`,
  'W/"1"',
  '"1"',
  '"18446744073709551616"',
  '"-1"',
  '"1", "2"',
  '1e3',
] as const;

const ODD_SEGMENTS = [
  '',
  '.',
  '..',
  '%2e',
  '%2e%2e',
  '%2F',
  'a%2Fb',
  'a/b',
  '%',
  '%z',
  '%zz',
  '%00',
  '%0a',
  '%0d%0aset-cookie:x',
  '%ED%A0%80',
  '%C0%80',
  '%F0%9F%98%80',
  '%E2%80%A8',
  '\xff',
  '\xc3\xa9',
  '*',
  ':projectId',
  '{projectId}',
  '__proto__',
  'constructor',
  'toString',
  'x'.repeat(200),
  'x'.repeat(1800),
  '%78'.repeat(400),
  '$KV',
  'a.b',
  'a>b',
  'a*',
  '%3E',
  '%2A',
  '%20',
  '+',
  '~',
  '00000000-0000-0000-0000-000000000000',
  '-1',
  '0',
  'null',
  "'; DROP TABLE events; --",
  '<script>',
  '"',
  '{}',
  '|',
  '^',
].map((segment) => segment.replaceAll(' ', '%20'));

function mutatePath({ random, known }: RequestSources, draft: Draft): void {
  const gone = random.chance(0.2) ? known.goneOne(random, draft.operation) : undefined;
  const spots = [...draft.operation.path.matchAll(/{(\w+)}/g)];
  const mutated = random.below(spots.length);
  let spot = -1;
  draft.path = draft.operation.path.replace(/{(\w+)}/g, (_, name: string) => {
    spot += 1;
    return spot === mutated
      ? gone === undefined
        ? oneOf(random, ODD_SEGMENTS)
        : encodeURIComponent(gone)
      : encodeURIComponent(draft.names[name] ?? '');
  });
}

const ODD_VALUES = [
  '',
  '%',
  '%zz',
  '%00',
  '%ED%A0%80',
  '\xff',
  '+',
  '%20',
  '0',
  '-0',
  '-1',
  '1',
  '1.5',
  '1e3',
  '1e999',
  '0x10',
  '%D9%A3',
  'NaN',
  'Infinity',
  '9007199254740993',
  '99999999999999999999',
  'true',
  'TRUE',
  'null',
  '[]',
  '{}',
  '%5B%5D',
  '%7B%7D',
  '%5Bnull%5D',
  '%5B%7B%7D%5D',
  '%5B%7B%22name%22:%22path%22%7D%5D',
  '%5B%7B%22name%22:%22path%22,%22operator%22:%22regex%22,%22value%22:%5B%22(%22%5D%7D%5D',
  '%5B%7B%22name%22:%22path%22,%22operator%22:%22is%22,%22value%22:%5B%22%5Cud800%22,%22%5Cu0000%22%5D%7D%5D',
  '%5B%7B%22name%22:%22__proto__%22,%22operator%22:%22is%22,%22value%22:%5B1%5D%7D%5D',
  '%5B%7B%22name%22:%22properties.a%22,%22operator%22:%22gt%22,%22value%22:%5B1e308%5D%7D%5D',
  '['.repeat(900),
  '2026-02-30',
  '2026-01-05',
  '0000-00-00',
  '9999-12-31',
  '-271821-04-20',
  '%2B275760-09-13',
  '2026-01-05T00:00:00Z',
  '2026-W01',
  '1970-01-01',
  'today',
  'custom',
  'month',
  "'",
  '%22',
  '%5C',
  'x'.repeat(1500),
  '%C3%A9'.repeat(300),
  '__proto__',
  'constructor',
  '*',
  '%25',
] as const;

function mutateQuery({ random }: RequestSources, draft: Draft): void {
  const names = draft.operation.parameters
    .filter(({ in: place }) => place === 'query')
    .map(({ name }) => name);
  const name =
    names.length === 0 || random.chance(0.15) ? oneOf(random, UNKNOWN_NAMES) : oneOf(random, names);
  const pair = `${name}=${oneOf(random, ODD_VALUES)}`;
  const others = draft.query.split('&').filter((other) => other !== '');
  switch (random.below(6)) {
    case 0:
      draft.query = [...others, pair, `${name}=${oneOf(random, ODD_VALUES)}`].join('&');
      break;
    case 1:
      draft.query = [...others, `${name}[]=1`, `${name}[a]=1`, name, '=', '&&', '=1'].join('&');
      break;
    case 2:
      draft.query = Array.from(
        { length: oneOf(random, [20, 199, 201, 230]) },
        (_, index) => `p${index}=1`,
      ).join('&');
      break;
    default:
      draft.query = [...others.filter((other) => !other.startsWith(`${name}=`)), pair].join('&');
  }
}

const UNKNOWN_NAMES = [
  'x',
  '__proto__',
  'constructor',
  '%',
  '%00',
  '\xff',
  'projectid',
  'RANGE',
  'limit%20',
  '',
] as const;

function mutateBody({ random }: RequestSources, draft: Draft): void {
  if (draft.node === undefined) return;
  if (random.chance(0.06)) {
    draft.bytes = Buffer.from(`{"name":"${'n'.repeat(oneOf(random, [65_500, 65_536, 70_000]))}"}`);
    return;
  }
  if (random.chance(0.06)) {
    draft.bytes = random.chance(0.2) ? Buffer.alloc(0) : oddBody(random);
    return;
  }
  if (random.chance(0.05) && draft.node.kind === 'object') draft.node.members.push(['__proto__', plain(1)]);
  for (let times = random.integer(1, 3); times > 0; times -= 1) changeSomething(random, draft.node);
  const bytes = encoded(random, textOf(draft.node));
  draft.bytes = random.chance(0.1) ? damaged(random, bytes) : bytes;
}

const TYPES = [
  '',
  'text/plain',
  'text/plain;charset=UTF-8',
  'TEXT/PLAIN',
  'text/html',
  'application/xml',
  'application/json; charset=utf-16',
  'application/jsonp',
  'application/merge-patch+json',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  ';',
  '/',
  '"',
  '\xff',
  `a/${'b'.repeat(1200)}`,
  'application/json, text/html',
  ' application/json ',
  'application/json;',
] as const;

function mutateType({ random }: RequestSources, draft: Draft): void {
  draft.headers = draft.headers.filter(([name]) => name !== 'content-type');
  const type = oneOf(random, TYPES);
  if (type !== '' || random.chance(0.5)) draft.headers.push(['content-type', type]);
}

function mutateMatch({ random }: RequestSources, draft: Draft): void {
  draft.headers = draft.headers.filter(([name]) => name !== 'if-match');
  draft.headers.push(['if-match', oneOf(random, ODD_TEXTS)]);
  if (random.chance(0.1)) draft.headers.push(['if-match', '*']);
}

const NAMES = [
  'if-match',
  'if-none-match',
  'origin',
  'referer',
  'user-agent',
  'idempotency-key',
  'service-client-ip',
  'x-forwarded-for',
  'forwarded',
  'service-sdk-name',
  'service-sdk-version',
  'accept',
  'accept-encoding',
  'accept-language',
  'range',
  'cookie',
  'x-http-method-override',
  'sec-ch-ua',
  'x-odd',
] as const;

function mutateHeaders({ random }: RequestSources, draft: Draft): void {
  const value = random.chance(0.2)
    ? oneOf(random, ['8.8.8.8', '[::1', 'https://', 'gzip;q=x', 'bytes=0-'])
    : undefined;
  draft.headers.push([oneOf(random, NAMES), value ?? oneOf(random, ODD_TEXTS)]);
  // The library reads a hundred headers at most.
  if (random.chance(0.1) && draft.headers.length < 20)
    for (let index = 0; index < 60; index += 1) draft.headers.push([`x-${index}`, String(index)]);
}

const HARMLESS = ['GET', 'OPTIONS', 'HEAD', 'TRACE', 'PROPFIND', 'QUERY', 'PUT'] as const;

function mutateMethod({ random, site }: RequestSources, draft: Draft): void {
  // The site of the questions must stay.
  const isKept = draft.names.projectId === site;
  draft.method = oneOf(random, isKept ? HARMLESS : [...HARMLESS, 'POST', 'PATCH', 'DELETE']);
}

function addBody({ random }: RequestSources, draft: Draft): void {
  draft.bytes = oneOf(random, [
    Buffer.from('{}'),
    Buffer.alloc(0),
    Buffer.from('x'.repeat(3000)),
    oddBody(random),
  ]);
}
