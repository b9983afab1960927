import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FORMER_DATA } from '../store/former-data.ts';
import { type Lock, takeLock } from './lock.mjs';
import { makePrivate } from './private-folder.ts';
import { Problem } from './problem.mjs';
import { writeWhole } from './write-whole.ts';

/**
 * Files of the launcher in DATA_DIR, beside the folders of the parts:
 * footfall.json    format of the folder
 * secrets.json     passwords of bus and store, the key that seals secrets, the operator's token, and the name of
 *                 this node; created once
 * run.json         processes of the current or the last run
 * external-store   host and port of the external store that the service has been used with
 * lock             the launcher that owns the folder
 */
export interface Secrets {
  readonly busUser: string;
  readonly busPassword: string;
  readonly storePassword: string;
  readonly secretsKey: string;
  readonly operationsToken: string;
  readonly instance: string;
}

/** The content of a possibly damaged file: every field must be checked before use. */
interface StoredFile {
  format?: unknown;
  projectId?: unknown;
  busUser?: unknown;
  busPassword?: unknown;
  storePassword?: unknown;
  secretsKey?: unknown;
  operationsToken?: unknown;
  instance?: unknown;
  clients?: Record<string, { id?: unknown; secret?: unknown } | undefined>;
}

export interface DataFolder {
  readonly isFirstStart: boolean;
  /** The files and folders that were open to other users of the machine. */
  readonly closedFiles: number;
  readonly secrets: Secrets;
  readonly lock: Lock;
}

/** 0.1.0 wrote the formats 1 and 2. */
const FORMAT = 3;
const PASSWORD = /^[\w-]+$/;
const SEALING_KEY = /^[0-9a-f]{64}$/i;
const SEALING_KEY_BYTES = 32;
const INSTANCE = /^[\w-]{1,64}$/;
// Names that a folder may contain without a footfall.json: files of an interrupted first start.
const BEFORE_FIRST_START = /^(logs|run\.json|secrets\.json|lock(\..*)?|.*\.part)$/;

/**
 * Checks the folder, creates it if it does not exist, locks it for this process, and closes it to other users before
 * anything else is written into it.
 */
export function openDataFolder(dataDir: string): DataFolder {
  makeFolder(dataDir);
  const lock = takeLock(join(dataDir, 'lock'));
  if ('heldBy' in lock) {
    const { heldBy } = lock;
    // 0: the owner is still writing its lock, so its process is not known yet.
    const owner = heldBy === 0 ? 'another process. Stop it' : `process ${heldBy}. Stop it (kill ${heldBy})`;
    throw new Problem(`${dataDir} is in use by ${owner} first, or set DATA_DIR to another folder.`);
  }
  try {
    const isFirstStart = checkFormat(dataDir);
    checkCredentials(dataDir);
    const closedFiles = makePrivate(dataDir);
    if (isFirstStart) writeFormat(dataDir);
    return { isFirstStart, closedFiles, secrets: readSecrets(dataDir), lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function makeFolder(dataDir: string) {
  try {
    makeMissingFolders(dataDir);
  } catch (error) {
    throw cannotStore(dataDir, error);
  }
  checkWritable(dataDir);
}

/** Throws a `Problem` unless this process can store data in the existing folder. */
export function checkWritable(dataDir: string): void {
  try {
    if (!statSync(dataDir).isDirectory()) throw new Error('it is not a folder');
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw cannotStore(dataDir, error);
  }
}

function cannotStore(dataDir: string, error: unknown) {
  const code = (error as NodeJS.ErrnoException).code;
  const reasons = {
    EEXIST: 'it is a file',
    ENOTDIR: 'a part of the path is a file',
    EACCES: 'it is not writable',
  };
  const reason = reasons[code as keyof typeof reasons] ?? (error as Error).message;
  return new Problem(`${dataDir} cannot store the data: ${reason}. Set DATA_DIR to a writable folder.`);
}

/**
 * Not `recursive`: with it, Node 20 never returns where the system reports that an existing parent does not exist, as
 * below /proc.
 */
function makeMissingFolders(folder: string) {
  if (existsSync(folder)) return;
  makeMissingFolders(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/** Returns true for the first start; throws a `Problem` unless this version reads the folder. */
function checkFormat(dataDir: string): boolean {
  const path = join(dataDir, 'footfall.json');
  if (!existsSync(path)) {
    checkIsEmpty(dataDir);
    return true;
  }
  const format = readJson(path)?.format;
  if (!isCompleteNumber(format))
    throw new Problem(`${path} is damaged. Restore it, or write {"format":${FORMAT}}.`);
  if (format < FORMAT) throw new Problem(`${dataDir}: ${FORMER_DATA}.`);
  if (format > FORMAT)
    throw new Problem(
      `${dataDir} was written by a newer version of footfall (format ${format}; this version supports ${FORMAT}). Start the newer version, or set DATA_DIR to another folder.`,
    );
  return false;
}

function writeFormat(dataDir: string) {
  const format = { format: FORMAT, createdAt: new Date().toISOString() };
  writeWhole(join(dataDir, 'footfall.json'), `${JSON.stringify(format, null, 2)}\n`);
}

/** A folder with other files in it was probably named by mistake; one with data of our parts has lost its footfall.json. */
function checkIsEmpty(dataDir: string) {
  const unknown = readdirSync(dataDir).filter((name) => !BEFORE_FIRST_START.test(name));
  if (unknown.length === 0) return;
  if (unknown.includes('bus') || unknown.includes('store')) {
    throw new Problem(
      `${dataDir} is damaged: footfall.json is missing. Restore it, or write {"format":${FORMAT}} into it.`,
    );
  }
  throw new Problem(
    `${dataDir} contains other files (${unknown.slice(0, 3).join(', ')}). Set DATA_DIR to an empty folder or to one that does not exist.`,
  );
}

function checkCredentials(dataDir: string) {
  const path = join(dataDir, 'credentials.json');
  if (!existsSync(path)) return;
  const found = readJson(path);
  const isComplete = ['root', 'read', 'write'].every((name) => {
    const client = found?.clients?.[name];
    return typeof client?.id === 'string' && typeof client?.secret === 'string';
  });
  if (!isComplete || typeof found?.projectId !== 'string') {
    throw new Problem(
      `${path} is damaged. Restore it from a backup, or move it away: the service runs without it, but its secrets are not stored anywhere else.`,
    );
  }
}

/**
 * The passwords protect bus and store from other users of this machine. They are stored so that a part can be started by hand; a lost
 * password is replaced by a new one. A new key cannot replace a lost one: values that the old key sealed cannot be opened any more, and
 * their use then fails with a message. So every valid value is preserved, even if the rest of the file is damaged.
 */
function readSecrets(dataDir: string): Secrets {
  const path = join(dataDir, 'secrets.json');
  const found = existsSync(path) ? readJson(path) : undefined;
  const valid = (name: keyof Secrets, pattern: RegExp) => {
    const value = found?.[name];
    return typeof value === 'string' && pattern.test(value) ? value : undefined;
  };
  const secrets = {
    busUser: valid('busUser', PASSWORD) ?? 'footfall',
    busPassword: valid('busPassword', PASSWORD) ?? randomSecret(),
    storePassword: valid('storePassword', PASSWORD) ?? randomSecret(),
    secretsKey: valid('secretsKey', SEALING_KEY) ?? randomBytes(SEALING_KEY_BYTES).toString('hex'),
    operationsToken: valid('operationsToken', PASSWORD) ?? randomSecret(),
    instance: valid('instance', INSTANCE) ?? `node-${randomBytes(6).toString('hex')}`,
  };
  const names = Object.keys(secrets) as (keyof Secrets)[];
  if (names.some((name) => found?.[name] !== secrets[name]))
    writeWhole(path, `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}

/** Letters and digits that need no quoting in a URL or in the bus's config file. */
function randomSecret() {
  return `s${randomBytes(24).toString('hex')}`;
}

/** The content of a file; undefined when it is not JSON. */
function readJson(path: string): StoredFile | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw new Problem(`${path} cannot be read: ${(error as Error).message}.`);
  }
}

function isCompleteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}
