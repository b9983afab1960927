import { Accounts, CONTROL_BUCKET } from '../../../infra/accounts/accounts.ts';
import { unreachable } from '../../../infra/assert.ts';
import type { Bus } from '../../../infra/bus/bus.ts';
import { BusError } from '../../../infra/bus/bus-error.ts';
import { systemClock } from '../../../infra/clock.ts';
import { readConfig } from '../../../infra/config.ts';
import { createLogger, type Logger } from '../../../infra/log.ts';
import { Catalog } from '../catalog.ts';
import type { ManageDeps } from '../manage.ts';
import { ControlRecords } from '../records.ts';
import { type Asked, readArguments, USAGE, UsageError } from './arguments.ts';
import { backup } from './backup.ts';
import { busAddress, connectTo } from './bus-address.ts';
import { createClient, deleteClient, listClients, rotateClient } from './client-commands.ts';
import { openControlPlane } from './control-plane.ts';
import { restore } from './restore.ts';
import type { Said } from './table.ts';
import { createTeam, listSites, listTeams } from './team-commands.ts';

/**
 * The program behind `npm run admin`: teams, sites and clients for whoever has the machine, without a secret. What was
 * asked for goes to standard output, all else to standard error.
 */
async function main(args: readonly string[]): Promise<void> {
  const asked = readArguments(args);
  if (asked === 'help') return print(USAGE);
  const log = createLogger('admin', 'error');
  const place = busAddress(readConfig());
  say(`on the bus ${place.shown}`);
  const bus = await connectTo(place, log);
  try {
    const { lines, json, isIncomplete = false } = await run(asked, bus, log);
    print(asked.json ? JSON.stringify(json, undefined, 2) : lines.join('\n'));
    if (isIncomplete) process.exitCode = 1;
  } finally {
    await bus.close();
  }
}

async function run(asked: Asked, bus: Bus, log: Logger): Promise<Said> {
  const { command, value: file, replace } = asked;
  if (command === 'backup') return backup(await openControlPlane(bus), { file, clock: systemClock, say });
  if (command === 'restore') return restore(await openControlPlane(bus), { file, replace, say });
  const parts = await manageDeps(bus, log);
  switch (command) {
    case 'team list':
      return listTeams(parts);
    case 'team create':
      return createTeam(parts, asked);
    case 'site list':
      return listSites(parts, asked);
    case 'client list':
      return listClients(parts, asked);
    case 'client create':
      return createClient(parts, asked);
    case 'client rotate':
      return rotateClient(parts, asked);
    case 'client delete':
      return deleteClient(parts, asked);
    default:
      return unreachable(command);
  }
}

/** The mirrors end with the connection. */
async function manageDeps(bus: Bus, log: Logger): Promise<ManageDeps> {
  return {
    accounts: await Accounts.open(bus, log),
    catalog: await Catalog.open(bus, log),
    records: new ControlRecords(await bus.keyed(CONTROL_BUCKET)),
    clock: systemClock,
  };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UsageError) say(`admin: ${message}; npm run admin -- --help`);
  else if (error instanceof BusError)
    say(`admin: ${message}; see that the bus is up, then say the same again`);
  else say(`admin: ${message}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

main(process.argv.slice(2)).catch(fail);
