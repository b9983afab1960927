import type { AuditedAction, AuditLog } from '../../audit/audit-log.ts';
import type { ManageDeps } from '../manage.ts';
import type { CommandLine } from './arguments.ts';
import { siteOfQuestion } from './explain-command.ts';
import { knownClient, knownSite, knownTeam } from './known.ts';
import { clientToSignIn } from './sign-in-command.ts';
import type { CommandOutput } from './table.ts';

/** The subject of a command's change. */
export interface CommandSubject {
  readonly teamId: string;
  readonly projectId: string | null;
  /** The client that it changes, if there is one. */
  readonly clientId?: string;
}

/**
 * Runs a command that changes something of a team, with an entry in the team's audit log: the command does not begin without
 * it, and its result is in it before the result is printed.
 */
export async function auditedCommand(
  audit: AuditLog,
  { command, value: _value, json: _json, ...options }: CommandLine,
  { teamId, projectId, clientId }: CommandSubject,
  run: () => Promise<CommandOutput>,
): Promise<CommandOutput> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== false);
  const action: AuditedAction = {
    actor: 'admin',
    clientId: null,
    clientName: null,
    action: `admin ${command}`,
    projectId,
    ids: clientId === undefined ? {} : { clientId },
    fields: given.map(([name]) => `--${name}`),
  };
  const begun = await audit.begin(teamId, action);
  const outcome = { status: 200, projectId, made: null, profileDigest: null };
  let output: CommandOutput;
  try {
    output = await run();
  } catch (error) {
    await audit.end(begun, { ...outcome, status: 500 });
    throw error;
  }
  await audit.end(begun, { ...outcome, made: output.made ?? null });
  return output;
}

/**
 * Returns the subject of a command that changes an existing team; undefined for the other commands. Throws if the subject does
 * not exist.
 */
export function subjectOf(
  deps: ManageDeps,
  { command, value, team, site, client }: CommandLine,
): CommandSubject | undefined {
  switch (command) {
    case 'site restore': {
      const { id, teamId } = knownSite(deps, value);
      return { teamId, projectId: id };
    }
    case 'client create':
      return team === undefined
        ? undefined
        : {
            teamId: knownTeam(deps, team).id,
            projectId: site === undefined ? null : knownSite(deps, site).id,
          };
    case 'alias undo': {
      if (site === undefined) return undefined;
      const { id, teamId } = knownSite(deps, site);
      return { teamId, projectId: id };
    }
    case 'explain': {
      const { id, teamId } = knownSite(deps, siteOfQuestion(value));
      return { teamId, projectId: id };
    }
    case 'sign-in': {
      const { id, teamId, projectId } = clientToSignIn(deps, { client, team });
      return { teamId, projectId, clientId: id };
    }
    case 'client rotate':
    case 'client delete': {
      const { id, teamId, projectId } = knownClient(deps, value);
      return { teamId, projectId, clientId: id };
    }
    default:
      return undefined;
  }
}
