import { type Site, type Team, teamKeyOf } from '../../../infra/accounts/accounts.ts';
import type { AuditLog } from '../../audit/audit-log.ts';
import { nameField } from '../../definitions/record-fields.ts';
import { newClient } from '../clients.ts';
import { type ManageDeps, newestFirst, nowText } from '../manage.ts';
import { projectOf } from '../project-api.ts';
import { restoreSite } from '../projects.ts';
import { slugOf, slugsFor } from '../slug.ts';
import { type CommandLine, UsageError } from './arguments.ts';
import { auditedCommand } from './audited-command.ts';
import { withSecret } from './client-commands.ts';
import { knownSite, knownTeam } from './known.ts';
import { type CommandOutput, counted, table } from './table.ts';

/** `team list` */
export function listTeams({ accounts }: ManageDeps): CommandOutput {
  const sites = [...accounts.sites.entries()].map(({ value }) => value);
  const clients = [...accounts.clients.entries()]
    .map(({ value }) => value)
    .filter((client) => !accounts.isLeftOver(client));
  const teams = newestFirst([...accounts.teams.entries()].map(({ value }) => value)).map((team) => ({
    ...team,
    sites: sites.filter(({ teamId, deletion }) => teamId === team.id && deletion === null).length,
    clients: clients.filter(({ teamId }) => teamId === team.id).length,
    rootClients: clients.filter(({ teamId, type }) => teamId === team.id && type === 'root').length,
  }));
  const rows = teams.map((team) => [
    team.id,
    team.name,
    String(team.sites),
    String(team.clients),
    String(team.rootClients),
    team.createdAt,
  ]);
  const heading = ['TEAM', 'NAME', 'SITES', 'CLIENTS', 'ROOT CLIENTS', 'CREATED'];
  return { lines: [...table(heading, rows), counted(teams.length, 'team')], json: { data: teams } };
}

/** `team create <name>`. The audit log of the new team begins with it. */
export async function createTeam(
  deps: ManageDeps,
  audit: AuditLog,
  commandLine: CommandLine,
): Promise<CommandOutput> {
  const name = nameField.safeParse(commandLine.value);
  if (!name.success) throw new UsageError(`<name>: ${name.error.issues[0]?.message ?? 'invalid'}`);
  // The team first: if another team takes the same id at the same time, a client written before would belong to that
  // team.
  const team = await newTeam(deps, name.data);
  // Without a client, a team that could not be logged can do nothing.
  return auditedCommand(audit, commandLine, { teamId: team.id, projectId: null }, () =>
    firstRootClient(deps, team),
  );
}

async function firstRootClient(deps: ManageDeps, team: Team): Promise<CommandOutput> {
  const made = await newClient(deps, team.id, {
    name: `${team.name} root client`.slice(0, 100),
    type: 'root',
    site: undefined,
  });
  const { lines, shown } = withSecret(deps, made.entry.value, made.secret);
  return {
    lines: [`team ${team.id} created, with a root client`, ...lines],
    json: { data: { ...team, client: shown } },
    made: shown.id,
  };
}

/** `site list` */
export function listSites(deps: ManageDeps, { team }: CommandLine): CommandOutput {
  const nowMs = deps.clock.nowMs();
  if (team !== undefined) knownTeam(deps, team);
  const all = [...deps.accounts.sites.entries()].map(({ value }) => value);
  const sites = newestFirst(all.filter(({ teamId }) => team === undefined || teamId === team));
  const rows = sites.map((site) => [site.id, site.teamId, site.name, stateOf(site), site.createdAt]);
  return {
    lines: [...table(['SITE', 'TEAM', 'NAME', 'STATE', 'CREATED'], rows), counted(sites.length, 'site')],
    json: { data: sites.map((site) => projectOf(site, nowMs)) },
  };
}

/** `site restore <id>` */
export async function restoreDeletedSite(deps: ManageDeps, { value }: CommandLine): Promise<CommandOutput> {
  const { entry, undone } = await restoreSite(deps, knownSite(deps, value).id);
  const shown = { ...projectOf(entry.value, deps.clock.nowMs()), restored: undone };
  return {
    lines: [`site ${entry.value.id} restored; its purge was due at ${undone.purgeAt}`],
    json: { data: shown },
  };
}

async function newTeam({ accounts, records, clock }: ManageDeps, name: string): Promise<Team> {
  // `slugOf` returns "site" for a name without letters and digits.
  const slug = /[a-z0-9]/i.test(name.normalize('NFKD')) ? slugOf(name) : 'team';
  for (const id of slugsFor(slug, () => false)) {
    if (accounts.team(id) !== undefined) continue;
    const team = { id, name, createdAt: nowText(clock) };
    const made = await records.create(accounts.teams, teamKeyOf(id), team);
    if (made !== undefined) return made.value;
  }
  throw new Error(`too many teams have the name ${JSON.stringify(name)}; choose another`);
}

function stateOf({ deletion }: Site): string {
  if (deletion === null) return 'active';
  if (deletion.status === 'waiting')
    return `deleted${deletion.isFinal ? ' for good' : ''}, purge from ${deletion.purgeAt}`;
  if (deletion.status === 'purged') return `purged ${deletion.finishedAt ?? ''}`;
  return `purging: ${deletion.step || 'started'}`;
}
