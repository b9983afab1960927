import { listAliases, shownAlias, undoAlias } from '../aliases.ts';
import type { ManageDeps } from '../manage.ts';
import { type CommandLine, UsageError } from './arguments.ts';
import { knownSite } from './known.ts';
import { type CommandOutput, counted, table } from './table.ts';

/** `alias list` */
export async function listSiteAliases(
  deps: ManageDeps,
  { site, profile, unverified }: CommandLine,
): Promise<CommandOutput> {
  const { storedId } = knownSite(deps, siteOption(site));
  const filter = { profileId: profile, verified: unverified ? false : undefined };
  const found = (await listAliases(deps.aliases, storedId, filter)).map(shownAlias);
  const rows = found.map(({ alias, profileId, verified, createdAt }) => [
    alias,
    profileId,
    verified ? 'yes' : 'no',
    createdAt ?? 'unknown',
  ]);
  return {
    lines: [
      ...table(['ALIAS', 'PROFILE', 'VERIFIED', 'CREATED'], rows),
      counted(found.length, 'alias', 'aliases'),
    ],
    json: { data: found },
  };
}

/** `alias undo <alias>` */
export async function undoSiteAlias(deps: ManageDeps, { value, site }: CommandLine): Promise<CommandOutput> {
  const { id, storedId } = knownSite(deps, siteOption(site));
  const undone = await undoAlias(deps.aliases, { projectId: storedId, alias: value });
  if (undone === undefined)
    throw new Error(
      `unknown alias ${JSON.stringify(value)}; list the known ones with "alias list --site ${id}"`,
    );
  const shown = shownAlias(undone);
  return {
    lines: [
      `alias ${JSON.stringify(shown.alias)} of ${JSON.stringify(shown.profileId)} undone; its events count as its own everywhere within 2 seconds`,
    ],
    json: { data: shown },
  };
}

function siteOption(site: string | undefined): string {
  if (site === undefined) throw new UsageError('missing --site ID');
  return site;
}
