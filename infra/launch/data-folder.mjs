import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { takeLock } from './lock.mjs';
import { Problem } from './problem.mjs';
import { writeWhole } from './write-whole.mjs';

/**
 * What the launcher keeps in DATA_DIR beside the parts' own folders:
 *   footfall.json    format of the folder and number of partitions, written once
 *   secrets.json     passwords of bus and store, and the key that secrets are sealed with; made once
 *   run.json         processes of the current or the last run
 *   lock             the launcher that owns the folder
 */
/** @typedef {{ readonly busUser: string, readonly busPassword: string, readonly storePassword: string, readonly secretsKey: string }} Secrets */
/**
 * What a file of ours may hold when it was damaged: every field has to be looked at before it is used.
 * @typedef {{ format?: unknown, partitions?: unknown, projectId?: unknown, busUser?: unknown, busPassword?: unknown,
 *   storePassword?: unknown, secretsKey?: unknown, clients?: Record<string, { id?: unknown, secret?: unknown } | undefined> }} Stored
 */
/** @typedef {{ readonly isFirstStart: boolean, readonly secrets: Secrets, readonly lock: import('./lock.mjs').Lock }} DataFolder */

const FORMAT = 1;
const PASSWORD = /^[\w-]+$/;
const SEALING_KEY = /^[0-9a-f]{64}$/i;
const SEALING_KEY_BYTES = 32;
// What may stand in a folder before it has a footfall.json: left by a first start that was broken off.
const BEFORE_FIRST_START = /^(logs|run\.json|secrets\.json|lock(\..*)?|.*\.part)$/;

/**
 * Checks the folder, makes it if there is none, and locks it for this process.
 * @param {string} dataDir
 * @param {number} partitions
 * @returns {DataFolder}
 */
export function openDataFolder(dataDir, partitions) {
  makeFolder(dataDir);
  const lock = takeLock(join(dataDir, 'lock'));
  if ('heldBy' in lock) {
    const holder = lock.heldBy === 0 ? 'another process' : `process ${lock.heldBy}`;
    throw new Problem(
      `${dataDir} is in use by ${holder}. Stop that one first (kill ${lock.heldBy}), or set DATA_DIR to another folder.`,
    );
  }
  try {
    const isFirstStart = checkFormat(dataDir, partitions);
    checkCredentials(dataDir);
    return { isFirstStart, secrets: readSecrets(dataDir), lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** @param {string} dataDir */
function makeFolder(dataDir) {
  try {
    makeMissingFolders(dataDir);
    if (!statSync(dataDir).isDirectory()) throw new Error('it is not a folder');
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    const reasons = {
      EEXIST: 'it is a file',
      ENOTDIR: 'a part of the path is a file',
      EACCES: 'it is not writable',
    };
    const reason =
      reasons[/** @type {keyof typeof reasons} */ (code)] ?? /** @type {Error} */ (error).message;
    throw new Problem(
      `${dataDir} cannot hold the data: ${reason}. Set DATA_DIR to a folder that can be written to.`,
    );
  }
}

/**
 * Not `recursive`, with which Node 20 never returns where the system answers that the parent does not exist although
 * it does, as below /proc.
 * @param {string} folder
 */
function makeMissingFolders(folder) {
  if (existsSync(folder)) return;
  makeMissingFolders(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/**
 * @param {string} dataDir
 * @param {number} partitions
 * @returns {boolean} whether this is the first start
 */
function checkFormat(dataDir, partitions) {
  const path = join(dataDir, 'footfall.json');
  if (!existsSync(path)) {
    checkIsEmpty(dataDir);
    writeWhole(
      path,
      `${JSON.stringify({ format: FORMAT, partitions, createdAt: new Date().toISOString() }, null, 2)}\n`,
    );
    return true;
  }
  const found = readJson(path);
  if (found === undefined || !isWholeNumber(found?.format) || !isWholeNumber(found?.partitions)) {
    throw new Problem(
      `${path} is damaged. Restore it, or write {"format":${FORMAT},"partitions":N} with the N that PARTITIONS was at the first start (normally 8).`,
    );
  }
  if (found.format > FORMAT) {
    throw new Problem(
      `${dataDir} was written by a newer footfall (format ${found.format}, this one knows ${FORMAT}). Start that version, or set DATA_DIR to another folder.`,
    );
  }
  if (found.partitions !== partitions) {
    throw new Problem(
      `${dataDir} was made with PARTITIONS=${found.partitions} and cannot be used with ${partitions}. Set PARTITIONS=${found.partitions}, or DATA_DIR to another folder.`,
    );
  }
  return false;
}

/**
 * A folder with other things in it was probably named by mistake; one with our parts in it has lost its footfall.json.
 * @param {string} dataDir
 */
function checkIsEmpty(dataDir) {
  const strangers = readdirSync(dataDir).filter((name) => !BEFORE_FIRST_START.test(name));
  if (strangers.length === 0) return;
  if (strangers.includes('bus') || strangers.includes('store')) {
    throw new Problem(
      `${dataDir} is damaged: footfall.json is missing. Restore it, or write {"format":${FORMAT},"partitions":N} with the N that PARTITIONS was at the first start (normally 8).`,
    );
  }
  throw new Problem(
    `${dataDir} holds other things (${strangers.slice(0, 3).join(', ')}). Set DATA_DIR to an empty folder or one that does not exist.`,
  );
}

/** @param {string} dataDir */
function checkCredentials(dataDir) {
  const path = join(dataDir, 'credentials.json');
  if (!existsSync(path)) return;
  const found = readJson(path);
  const isWhole = ['root', 'read', 'write'].every((name) => {
    const client = found?.clients?.[name];
    return typeof client?.id === 'string' && typeof client?.secret === 'string';
  });
  if (!isWhole || typeof found?.projectId !== 'string') {
    throw new Problem(
      `${path} is damaged. Restore it from a copy, or move it away: the service runs without it, but the secrets in it are kept nowhere else.`,
    );
  }
}

/**
 * The passwords protect bus and store from other users of this machine. They are stored so that a part can be started
 * by hand; if the file is lost, new ones do as well. Another key does not: what was sealed with the one that is lost
 * stays shut, and says so where it is asked for. So what is whole is kept, whatever became of the rest.
 * @param {string} dataDir
 * @returns {Secrets}
 */
function readSecrets(dataDir) {
  const path = join(dataDir, 'secrets.json');
  const found = existsSync(path) ? readJson(path) : undefined;
  const whole = (/** @type {keyof Secrets} */ name, /** @type {RegExp} */ pattern) => {
    const value = found?.[name];
    return typeof value === 'string' && pattern.test(value) ? value : undefined;
  };
  const secrets = {
    busUser: whole('busUser', PASSWORD) ?? 'footfall',
    busPassword: whole('busPassword', PASSWORD) ?? randomSecret(),
    storePassword: whole('storePassword', PASSWORD) ?? randomSecret(),
    secretsKey: whole('secretsKey', SEALING_KEY) ?? randomBytes(SEALING_KEY_BYTES).toString('hex'),
  };
  const names = /** @type {(keyof Secrets)[]} */ (Object.keys(secrets));
  if (names.some((name) => found?.[name] !== secrets[name]))
    writeWhole(path, `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}

/** Letters and digits that need no quoting, neither in an address nor in the bus's config file. */
function randomSecret() {
  return `s${randomBytes(24).toString('hex')}`;
}

/**
 * @param {string} path
 * @returns {Stored | undefined} undefined when it is not JSON
 */
function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw new Problem(`${path} cannot be read: ${/** @type {Error} */ (error).message}.`);
  }
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
function isWholeNumber(value) {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}
