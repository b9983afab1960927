import { createSignInLink } from '../../../infra/accounts/sign-in-links.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { withoutTrailingSlashes } from '../../../infra/network/trailing-slashes.ts';
import { PLAN, SERVER_TIMING, STAGES } from '../../snapshot/stage-times.ts';
import { ENGINES, REASONS, type Way, waysIn } from '../../ways.ts';
import type { ManageDeps } from '../manage.ts';
import { UsageError } from './arguments.ts';
import { knownSite } from './known.ts';
import { clientToSignIn } from './sign-in-command.ts';
import { type CommandOutput, counted, table } from './table.ts';

/** No id of a site needs an encoding. */
const QUESTION = /^\/insights\/([^/?#%]+)\/[^#]+$/;
const ANSWER_MAX_MS = 120_000;

/** The bucket of sign-in links, and the address of the service. */
interface AskedService {
  readonly bucket: KeyedBytes;
  readonly baseUrl: string;
}

/** The site of a question such as `/insights/shop/metrics?range=30d`. */
export function siteOfQuestion(question: string): string {
  const [, site] = QUESTION.exec(question) ?? [];
  if (site === undefined)
    throw new UsageError('explain: expected a question such as "/insights/shop/metrics?range=30d"');
  return site;
}

/**
 * `explain`: asks the running service a question, and shows which engine answered each part of it and why. The caches and
 * the memory of the process that answers are as they are for everyone, so a second question may go another way.
 */
export async function explainQuestion(
  deps: ManageDeps,
  question: string,
  service: AskedService,
): Promise<CommandOutput> {
  const { teamId } = knownSite(deps, siteOfQuestion(question));
  const client = clientToSignIn(deps, { client: undefined, team: teamId });
  const baseUrl = withoutTrailingSlashes(service.baseUrl);
  const link = await createSignInLink(service.bucket, client, deps.clock.nowMs());
  const signedIn = await ask(baseUrl, '/sign-in', { body: JSON.stringify({ link }) });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ');
  try {
    const answer = await ask(baseUrl, question, { cookie });
    return explained(answer.headers.get(SERVER_TIMING) ?? '');
  } finally {
    await ask(baseUrl, '/sign-out', { cookie, body: '' });
  }
}

async function ask(
  baseUrl: string,
  path: string,
  { cookie, body }: { readonly cookie?: string; readonly body?: string },
): Promise<Response> {
  const response = await fetch(baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    // The service accepts a cookie only from its own pages.
    headers: {
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
      ...(cookie !== undefined && { cookie }),
    },
    body: body ?? null,
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MAX_MS),
  }).catch((error: unknown) => {
    throw new Error(`no answer at ${baseUrl}; is the service running? --url names another address`, {
      cause: error,
    });
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return response;
}

function explained(timing: string): CommandOutput {
  const entries = new Map(
    timing.split(', ').map((entry) => {
      const end = entry.indexOf(';');
      const value = entry.slice(entry.indexOf('=') + 1).replaceAll('"', '');
      return [entry.slice(0, end), value] as const;
    }),
  );
  const ways = waysIn(entries.get(PLAN) ?? '');
  const times = [...STAGES, 'total'].flatMap((stage) => {
    const ms = entries.get(stage);
    return ms === undefined ? [] : [[stage, Number(ms)] as const];
  });
  return {
    lines: [
      ...(ways.length === 0
        ? ['no statement and no cache: answered from live counts, or together with an equal question']
        : table(['part', 'engine', 'rows', 'why'], ways.map(rowOf))),
      '',
      ...[...new Set(ways.map(({ engine }) => engine))].map((engine) => `${engine}: ${ENGINES[engine]}`),
      `${counted(ways.length, 'part')}; ${times.map(([stage, ms]) => `${stage} ${ms} ms`).join(', ')}`,
    ],
    json: { data: { parts: ways, milliseconds: Object.fromEntries(times) } },
  };
}

function rowOf({ part, engine, rows, why, notInMemory }: Way): readonly string[] {
  const outside = notInMemory === undefined ? '' : `; memory: ${REASONS[notInMemory]}`;
  return [part, engine, rows?.toLocaleString('en') ?? '', REASONS[why] + outside];
}
