import type { Client } from '../../../infra/accounts/accounts.ts';
import { createSignInLink, LINK_AGE_MAX_MS, signInUrl } from '../../../infra/accounts/sign-in-links.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { isLasting } from '../clients.ts';
import { type ManageDeps, newestFirst } from '../manage.ts';
import type { CommandLine } from './arguments.ts';
import { knownClient, knownTeam } from './known.ts';
import type { CommandOutput } from './table.ts';

/** `sign-in`: makes a link that signs a browser in, once. */
export async function makeSignInLink(
  deps: ManageDeps,
  commandLine: Pick<CommandLine, 'client' | 'team'>,
  { bucket, baseUrl }: { readonly bucket: KeyedBytes; readonly baseUrl: string },
): Promise<CommandOutput> {
  const client = clientToSignIn(deps, commandLine);
  const nowMs = deps.clock.nowMs();
  const url = signInUrl(baseUrl, await createSignInLink(bucket, client, nowMs));
  const expiresAt = new Date(nowMs + LINK_AGE_MAX_MS).toISOString();
  return {
    lines: [
      `  ${url}`,
      `Signs a browser in as client ${client.id} (${client.type}), once and until ${expiresAt}.`,
    ],
    json: { data: { url, clientId: client.id, expiresAt } },
  };
}

/** The client that is named, or else the first root client of the team that is named, or else of the first team. */
export function clientToSignIn(
  deps: ManageDeps,
  { client, team }: Pick<CommandLine, 'client' | 'team'>,
): Client {
  if (client !== undefined) {
    const known = knownClient(deps, client);
    if (known.type === 'write')
      throw new Error(
        `client ${known.id} is a write client, which cannot sign in; use a read or root client`,
      );
    return known;
  }
  const { accounts } = deps;
  const first = newestFirst([...accounts.teams.entries()].map(({ value }) => value)).at(-1);
  const teamId = team === undefined ? first?.id : knownTeam(deps, team).id;
  const roots = [...accounts.clients.entries()].map(({ value }) => value);
  const found = newestFirst(roots.filter((one) => one.teamId === teamId && isLasting(one))).at(-1);
  if (found !== undefined) return found;
  throw new Error('there is no team with a root client; make one with "team create"');
}
