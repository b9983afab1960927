import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../bus/bus.ts';
import { ConfigError } from '../config.ts';

const SUBJECT = 'secrets-key';
/** The time for which a process waits at its start for others that have another key. */
const OBJECTION_WAIT_MS = 500;
const MARK_BYTES = 32;

/**
 * Makes sure that the processes of a bus have one `SECRETS_KEY`: all others have to read what one of them encrypts or signs. At its start,
 * each sends a mark of its key, from which the key cannot be found; while it runs, it objects when a newcomer has another. So a change of
 * the key needs a restart of all processes.
 * @throws {ConfigError} a running process has another key
 */
export async function agreeOnKey(bus: Bus, secretsKey: string, waitMs = OBJECTION_WAIT_MS): Promise<void> {
  if (secretsKey === '') return;
  const own = createHmac('sha256', Buffer.from(secretsKey, 'hex')).update('the mark of this key').digest();
  let isStarting = true;
  let isDifferent = false;
  bus.listen(SUBJECT, (bytes) => {
    if (bytes.length !== MARK_BYTES || own.equals(bytes)) return;
    if (isStarting) isDifferent = true;
    else bus.broadcast(SUBJECT, own);
  });
  bus.broadcast(SUBJECT, own);
  await sleep(waitMs);
  isStarting = false;
  if (isDifferent)
    throw new ConfigError(
      'SECRETS_KEY: a running process of this bus has another key. Give all processes the same one, which the first of them has in secrets.json of its DATA_DIR.',
    );
}
