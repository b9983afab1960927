import { Accounts, CONTROL_BUCKET } from '../../../infra/accounts/accounts.ts';
import { ClientUses } from '../../../infra/accounts/client-uses.ts';
import { LINK_BUCKET } from '../../../infra/accounts/sign-in-links.ts';
import { unreachable } from '../../../infra/assert.ts';
import type { Bus } from '../../../infra/bus/bus.ts';
import { BusError } from '../../../infra/bus/bus-error.ts';
import { systemClock } from '../../../infra/clock.ts';
import { readConfig } from '../../../infra/config.ts';
import { createLogger, type Logger } from '../../../infra/log.ts';
import { baseUrlOf } from '../../../infra/network/base-url.ts';
import { ALIASES_BUCKET } from '../../../ingest/entity-update.ts';
import { AuditLog } from '../../audit/audit-log.ts';
import { Catalog } from '../catalog.ts';
import type { ManageDeps } from '../manage.ts';
import { ControlRecords } from '../records.ts';
import { listSiteAliases, undoSiteAlias } from './alias-commands.ts';
import { type CommandLine, type CommandName, readArguments, USAGE, UsageError } from './arguments.ts';
import { auditedCommand, subjectOf } from './audited-command.ts';
import { backup } from './backup.ts';
import { busAddress, connectTo } from './bus-address.ts';
import { createClient, deleteClient, listClients, rotateClient } from './client-commands.ts';
import { openControlPlane } from './control-plane.ts';
import { explainQuestion } from './explain-command.ts';
import { countLanes, growLanes } from './lane-commands.ts';
import { restore } from './restore.ts';
import { makeSignInLink } from './sign-in-command.ts';
import type { CommandOutput } from './table.ts';
import { createTeam, listSites, listTeams, restoreDeletedSite } from './team-commands.ts';
import { isFolder } from './whole/backup-folder.ts';
import type { BackupPlace } from './whole/backup-place.ts';
import { LaneOwners } from './whole/lane-owners.ts';
import { signingKeyOf } from './whole/manifest-signature.ts';
import { isBucket, withPlace } from './whole/place-address.ts';
import { openStores } from './whole/store-address.ts';
import { backupWhole, type WholeBackup } from './whole/whole-backup.ts';
import { restoreWhole } from './whole/whole-restore.ts';

/**
 * The program behind `npm run admin`: manages teams, sites and clients on the machine itself, without a secret. Results
 * go to standard output, everything else to standard error.
 */
async function main(args: readonly string[]): Promise<void> {
  const commandLine = readArguments(args);
  if (commandLine === 'help') return print(USAGE);
  const log = createLogger('admin', 'error');
  const address = busAddress(readConfig());
  writeNote(`bus: ${address.shown}`);
  const bus = await connectTo(address, log);
  try {
    const { lines, json, isIncomplete = false } = await run(commandLine, bus, log);
    print(commandLine.json ? JSON.stringify(json, undefined, 2) : lines.join('\n'));
    if (isIncomplete) process.exitCode = 1;
  } finally {
    await bus.close();
  }
}

async function run(commandLine: CommandLine, bus: Bus, log: Logger): Promise<CommandOutput> {
  const { command, value: file, replace, unsigned, events } = commandLine;
  if (command === 'backup') {
    const plane = await openControlPlane(bus);
    const onlyRecords = { file, clock: systemClock, writeNote };
    if (!events && !isBucket(file)) return backup(plane, onlyRecords);
    return withStore(bus, file, (whole, place) =>
      backupWhole({ ...whole, plane, clock: systemClock }, place),
    );
  }
  const audit = await AuditLog.open(bus, systemClock);
  if (command === 'restore') {
    const plane = await openControlPlane(bus);
    if (!isBucket(file) && !(await isFolder(file)))
      return restore(plane, audit, { file, replace, writeNote });
    return withStore(bus, file, (whole, place) =>
      restoreWhole({ ...whole, plane, audit }, { place, replace, unsigned }),
    );
  }
  const deps = await manageDeps(bus, log);
  const line = { ...commandLine, command };
  const subject = subjectOf(deps, line);
  if (subject === undefined) return runOn(deps, { audit, bus }, line);
  return auditedCommand(audit, line, subject, () => runOn(deps, { audit, bus }, line));
}

/** Runs a command that needs the store and the owners of the lanes, too, and the place of a backup. */
async function withStore(
  bus: Bus,
  argument: string,
  command: (
    whole: Pick<WholeBackup, 'bus' | 'stores' | 'owners' | 'key' | 'writeNote'>,
    place: BackupPlace,
  ) => Promise<CommandOutput>,
): Promise<CommandOutput> {
  const config = readConfig();
  return withPlace(argument, config, writeNote, async (place) => {
    const owners = new LaneOwners(bus);
    const stores = await openStores(config, await owners.layout());
    try {
      return await command({ bus, stores, owners, key: signingKeyOf(config), writeNote }, place);
    } finally {
      await stores.inEach((store) => store.close());
    }
  });
}

async function runOn(
  deps: ManageDeps,
  { audit, bus }: { readonly audit: AuditLog; readonly bus: Bus },
  commandLine: CommandLine & { readonly command: Exclude<CommandName, 'backup' | 'restore'> },
): Promise<CommandOutput> {
  const { command } = commandLine;
  switch (command) {
    case 'team list':
      return listTeams(deps);
    case 'team create':
      return createTeam(deps, audit, commandLine);
    case 'site list':
      return listSites(deps, commandLine);
    case 'site restore':
      return restoreDeletedSite(deps, commandLine);
    case 'sign-in':
      return makeSignInLink(deps, commandLine, await askedService(bus, commandLine.url));
    case 'explain':
      return explainQuestion(deps, commandLine.value, await askedService(bus, commandLine.url));
    case 'alias list':
      return listSiteAliases(deps, commandLine);
    case 'alias undo':
      return undoSiteAlias(deps, commandLine);
    case 'lane count':
      return countLanes(bus);
    case 'lane grow':
      return growLanes(bus, commandLine.value, writeNote);
    case 'client list':
      return listClients(deps, commandLine);
    case 'client create':
      return createClient(deps, commandLine);
    case 'client rotate':
      return rotateClient(deps, commandLine);
    case 'client delete':
      return deleteClient(deps, commandLine);
    default:
      return unreachable(command);
  }
}

/** The bucket of sign-in links, and the address of the service. */
async function askedService(bus: Bus, url: string | undefined) {
  const baseUrl = signInBase(url);
  return { bucket: await bus.keyed(LINK_BUCKET), baseUrl };
}

function signInBase(url: string | undefined): string {
  if (url === undefined) return baseUrlOf(readConfig());
  if (URL.canParse(url) && /^https?:/.test(url)) return url;
  throw new UsageError('--url: expected a URL such as https://stats.example');
}

/** The mirrors stop when the connection closes. */
async function manageDeps(bus: Bus, log: Logger): Promise<ManageDeps> {
  const accounts = await Accounts.open(bus, log);
  return {
    accounts,
    uses: await ClientUses.open({ bus, accounts, clock: systemClock, log }),
    catalog: await Catalog.open(bus, log),
    records: new ControlRecords(await bus.keyed(CONTROL_BUCKET)),
    aliases: await bus.keyed(ALIASES_BUCKET),
    clock: systemClock,
    limits: readConfig(),
  };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function writeNote(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UsageError) writeNote(`admin: ${message}; see npm run admin -- --help`);
  else if (error instanceof BusError)
    writeNote(`admin: ${message}; check that the bus is running, then repeat the command`);
  else writeNote(`admin: ${message}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

main(process.argv.slice(2)).catch(fail);
