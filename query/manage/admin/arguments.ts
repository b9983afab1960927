import { parseArgs } from 'node:util';

export const USAGE = `usage: npm run admin -- <command> [--json]

  team list                                list teams with their number of sites and clients
  team create <name>                       create a team and a root client; shows the secret once
  site list [--team ID]                    list sites, including deleted ones
  site restore <id>                        undo the deletion of a site, until its purge begins
  client list [--team ID] [--site ID]      list clients
  client create --team ID --type root|read|write [--site ID] [--name NAME]
                                           create a client; shows the secret once
  client rotate <id>                       give a client a new secret; shows it once
  client delete <id>                       delete a client
  sign-in [--client ID] [--team ID] [--url URL]
                                           make a link that signs a browser in, once and within an hour; by default as
                                           the first root client, at BASE_URL or HOST and PORT
  explain <question> [--url URL]           ask the running service, and show which engine answered each part and why; such as
                                           "/insights/shop/metrics?range=30d", by default at BASE_URL or HOST and PORT
  alias list --site ID [--profile ID] [--unverified]
                                           list the aliases of a site; --unverified: those made without a secret
  alias undo <alias> --site ID             let the events of an alias count as its own again
  lane count                               show how many lanes the service has
  lane grow <number>                       let the running service have more lanes, a multiple of its number, for good
  backup <folder> --events                 write everything to a new folder: control records, events, sessions, people, orders;
                                           repeat it with the same folder to finish one that was interrupted
  backup s3://<bucket>/<prefix>            the same to a bucket, below a new prefix
  backup <file>                            write all control records to a new file
  restore <folder> [--replace] [--unsigned]
                                           restore such a folder into an empty service; --replace: also if it has teams;
                                           --unsigned: also if SECRETS_KEY is set and has not signed it
  restore s3://<bucket>/<prefix> [--replace] [--unsigned]
                                           the same from a bucket
  restore <file> [--replace]               restore such a file; --replace: delete control records that it lacks

  --json    print one JSON document on standard output
  --help    print this text

Connects to NATS_URL, or to the bus of the service that runs on DATA_DIR (default .data); for folders and buckets also to its
store, or to CLICKHOUSE_URL. A bucket is reached with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, at AWS_ENDPOINT_URL (default:
Amazon S3) in AWS_REGION (default us-east-1).
Exit code 0: success; 1: failure, explained in one line; 2: invalid command line.`;

/** For each command: its positional argument, and the options that it takes. */
const COMMANDS = {
  'team list': { value: '', options: [] },
  'team create': { value: 'name', options: [] },
  'site list': { value: '', options: ['team'] },
  'site restore': { value: 'id', options: [] },
  'client list': { value: '', options: ['team', 'site'] },
  'client create': { value: '', options: ['team', 'type', 'site', 'name'] },
  'client rotate': { value: 'id', options: [] },
  'client delete': { value: 'id', options: [] },
  'sign-in': { value: '', options: ['client', 'team', 'url'] },
  explain: { value: 'question', options: ['url'] },
  'alias list': { value: '', options: ['site', 'profile', 'unverified'] },
  'alias undo': { value: 'alias', options: ['site'] },
  'lane count': { value: '', options: [] },
  'lane grow': { value: 'number', options: [] },
  backup: { value: 'file', options: ['events'] },
  restore: { value: 'file', options: ['replace', 'unsigned'] },
} as const satisfies Record<string, { readonly value: string; readonly options: readonly OptionName[] }>;
export type CommandName = keyof typeof COMMANDS;

const OPTIONS = {
  team: { type: 'string' },
  site: { type: 'string' },
  type: { type: 'string' },
  name: { type: 'string' },
  client: { type: 'string' },
  url: { type: 'string' },
  profile: { type: 'string' },
  unverified: { type: 'boolean' },
  replace: { type: 'boolean' },
  unsigned: { type: 'boolean' },
  events: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;
type OptionName =
  | 'team'
  | 'site'
  | 'type'
  | 'name'
  | 'client'
  | 'url'
  | 'profile'
  | 'unverified'
  | 'replace'
  | 'unsigned'
  | 'events';

/** A parsed command line. */
export interface CommandLine {
  readonly command: CommandName;
  /** The name, id, alias, file or folder after the command; empty when the command takes none. */
  readonly value: string;
  readonly team: string | undefined;
  readonly site: string | undefined;
  readonly type: string | undefined;
  readonly name: string | undefined;
  readonly client: string | undefined;
  readonly url: string | undefined;
  readonly profile: string | undefined;
  readonly unverified: boolean;
  readonly replace: boolean;
  readonly unsigned: boolean;
  readonly events: boolean;
  readonly json: boolean;
}

/** Thrown for an invalid command line. The message can be shown as it is. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Parses the arguments; throws a `UsageError`. */
export function readArguments(args: readonly string[]): CommandLine | 'help' {
  const { values, positionals } = parsed(args);
  const {
    team,
    site,
    type,
    name,
    client,
    url,
    profile,
    unverified = false,
    replace = false,
    unsigned = false,
    events = false,
    json = false,
  } = values;
  if (values.help === true) return 'help';
  const { command, rest } = commandOf(positionals);
  const { value: wanted, options } = COMMANDS[command];
  const taken: readonly string[] = [...options, 'json'];
  const unsupported = Object.keys(values).find((option) => !taken.includes(option));
  if (unsupported !== undefined) throw new UsageError(`${command} does not take --${unsupported}`);
  const [value = '', another] = rest;
  if (wanted === '' && value !== '')
    throw new UsageError(`${command} does not take ${JSON.stringify(value)}`);
  if (wanted !== '' && value === '') throw new UsageError(`${command} needs <${wanted}>`);
  if (another !== undefined) {
    throw new UsageError(`${command} takes one <${wanted}>; put quotes around spaces`);
  }
  const flags = { unverified, replace, unsigned, events, json };
  return { command, value, team, site, type, name, client, url, profile, ...flags };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UsageError(message);
  }
}

/** A command name has one word or two. */
function commandOf(words: readonly string[]): { command: CommandName; rest: readonly string[] } {
  for (const length of [2, 1]) {
    const command = words.slice(0, length).join(' ');
    if (isCommand(command)) return { command, rest: words.slice(length) };
  }
  if (words.length === 0) throw new UsageError('missing command');
  throw new UsageError(`unknown command ${JSON.stringify(words.slice(0, 2).join(' '))}`);
}

function isCommand(text: string): text is CommandName {
  return Object.hasOwn(COMMANDS, text);
}
