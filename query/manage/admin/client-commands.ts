import { type Client, clientKeyOf, type Site } from '../../../infra/accounts/accounts.ts';
import { createSecret, hashSecret } from '../../../infra/accounts/client-auth.ts';
import { type ClientShown, clientCreation, shownClient } from '../client-api.ts';
import { isLastRoot, newClient } from '../clients.ts';
import { type ManageDeps, newestFirst, noSuch, nowText } from '../manage.ts';
import { type CommandLine, UsageError } from './arguments.ts';
import { knownClient, knownSite, knownTeam } from './known.ts';
import { type CommandOutput, counted, table } from './table.ts';

const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  name: '--name',
  type: '--type',
  projectId: '--site',
};

/** `client list` */
export function listClients(deps: ManageDeps, { team, site }: CommandLine): CommandOutput {
  if (team !== undefined) knownTeam(deps, team);
  if (site !== undefined) knownSite(deps, site);
  const { accounts, uses } = deps;
  const all = [...accounts.clients.entries()]
    .map(({ value }) => value)
    .filter((client) => !accounts.isLeftOver(client))
    .map((client) => shownClient(client, uses));
  const clients = newestFirst(
    all.filter(
      ({ teamId, projectId }) =>
        (team === undefined || teamId === team) && (site === undefined || projectId === site),
    ),
  );
  const rows = clients.map(({ id, type, teamId, projectId, name, updatedAt, lastUsedAt }) => [
    id,
    type,
    teamId,
    siteText(deps, projectId),
    name,
    updatedAt,
    lastUsedAt ?? '-',
  ]);
  const heading = ['CLIENT', 'TYPE', 'TEAM', 'SITE', 'NAME', 'CHANGED', 'LAST USED'];
  return { lines: [...table(heading, rows), counted(clients.length, 'client')], json: { data: clients } };
}

/** `client create` */
export async function createClient(
  deps: ManageDeps,
  { team, type, site, name }: CommandLine,
): Promise<CommandOutput> {
  if (team === undefined || type === undefined) throw new UsageError('client create needs --team and --type');
  const given = clientCreation.safeParse({ name: name ?? `${type} client`, type, projectId: site ?? null });
  if (!given.success) {
    const issue = given.error.issues[0];
    const option = OPTION_OF_FIELD[String(issue?.path[0])] ?? 'client create';
    throw new UsageError(`${option}: ${issue?.message ?? 'invalid'}`);
  }
  const { id } = knownTeam(deps, team);
  const ofSite = site === undefined ? undefined : knownSite(deps, site);
  if (ofSite !== undefined) rejectOtherSite(ofSite, id);
  const made = await newClient(deps, id, {
    name: given.data.name,
    type: given.data.type,
    site: ofSite,
  });
  const { lines, shown } = withSecret(deps, made.entry.value, made.secret);
  return { lines: ['client created', ...lines], json: { data: shown }, made: shown.id };
}

/** `client rotate <id>` */
export async function rotateClient(deps: ManageDeps, { value }: CommandLine): Promise<CommandOutput> {
  const { accounts, records, clock } = deps;
  const key = clientKeyOf(knownClient(deps, value).id);
  const secret = createSecret();
  const secretHash = hashSecret(secret);
  const entry = await records.change(accounts.clients, key, '', {
    change: (current) => ({ ...current, secretHash, updatedAt: nowText(clock) }),
    missing: () => noSuch('client', value),
  });
  const { lines, shown } = withSecret(deps, entry.value, secret);
  return {
    lines: ['secret rotated; the previous one stops working everywhere within 2 seconds', ...lines],
    json: { data: shown },
  };
}

/** `client delete <id>` */
export async function deleteClient(deps: ManageDeps, { value }: CommandLine): Promise<CommandOutput> {
  const { accounts, records, uses } = deps;
  const client = knownClient(deps, value);
  if (isLastRoot(deps, client))
    throw new Error(
      `client ${client.id} is the last root client of team ${client.teamId}; use client rotate instead`,
    );
  const missing = () => noSuch('client', value);
  const removed = await records.remove(accounts.clients, clientKeyOf(client.id), '', missing);
  return {
    lines: [`client ${removed.id} deleted; its secret stops working everywhere within 2 seconds`],
    json: { data: shownClient(removed, uses) },
  };
}

/** Shows a client and its secret, which is stored nowhere else. */
export function withSecret(
  { uses }: ManageDeps,
  client: Client,
  secret: string,
): { lines: string[]; shown: ClientShown & { readonly secret: string } } {
  const { id, type, teamId, projectId } = client;
  const lines = [
    `  client  ${id}`,
    `  secret  ${secret}`,
    `  type    ${type}`,
    `  team    ${teamId}`,
    `  site    ${projectId ?? 'all'}`,
    'The secret is shown only once; only a hash is stored.',
  ];
  return { lines, shown: { ...shownClient(client, uses), secret } };
}

function siteText({ accounts }: ManageDeps, projectId: string | null): string {
  if (projectId === null) return 'all';
  return accounts.site(projectId) === undefined ? `${projectId} (deleted)` : projectId;
}

function rejectOtherSite({ id, teamId, deletion }: Site, team: string): void {
  if (teamId !== team) throw new Error(`site ${id} belongs to team ${teamId}; use --team ${teamId}`);
  if (deletion !== null) throw new Error(`site ${id} is deleted; create another one`);
}
