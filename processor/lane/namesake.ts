import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Bus } from '../../infra/bus/bus.ts';

/** Time that a processor waits at its start for another one of its name. */
const OBJECTION_WAIT_MS = 700;
const VERSION = 1;

const claim = z.strictObject({
  version: z.literal(VERSION),
  /** Random, of one process. */
  token: z.string(),
  /** True if the process has taken the name; false if it only asks for it. */
  isTaken: z.boolean(),
  /** Host of the process, for the error message. */
  host: z.string(),
  pid: z.int(),
});
type Claim = z.output<typeof claim>;

/** Two processors have one name. The message says what to do. */
export class NamesakeError extends Error {
  override readonly name = 'NamesakeError';
}

/**
 * Takes a name for this process, until the returned function is called. A process immediately takes over what its namesake owns, as after a
 * restart, so two live namesakes would take it from each other for ever. If two start at the same time, one gets the name.
 *
 *     asks   ─▶ the owner of the name objects: the asking process ends
 *            ─▶ another process asks, too: the greater token ends
 *            ─▶ no answer within a moment: taken
 *
 * A namesake that hangs does not object, and is fenced when it continues.
 * @throws {NamesakeError} another process has it
 */
export async function takeName(bus: Bus, instance: string, waitMs = OBJECTION_WAIT_MS): Promise<() => void> {
  const subject = `namesake.${instance}`;
  const own = { version: VERSION, token: randomUUID(), host: hostname(), pid: process.pid } as const;
  let isTaken = false;
  let winner: Claim | undefined;
  const tell = () => bus.broadcast(subject, Buffer.from(JSON.stringify({ ...own, isTaken })));
  const stop = bus.listen(subject, (bytes) => {
    const other = claimIn(bytes);
    if (other === undefined || other.token === own.token) return;
    if (isTaken) {
      if (!other.isTaken) tell();
    } else if (other.isTaken || other.token < own.token) winner = other;
    // The greater token hears of the lesser one, though it may have begun to listen later.
    else tell();
  });
  tell();
  await sleep(waitMs);
  if (winner !== undefined) {
    stop();
    throw new NamesakeError(
      `INSTANCE: another processor named ${instance} runs on this bus (process ${winner.pid} of ${winner.host}). Give each processor a name of its own.`,
    );
  }
  isTaken = true;
  tell();
  return stop;
}

function claimIn(bytes: Uint8Array): Claim | undefined {
  try {
    return claim.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch {
    return undefined; // Not from one of us.
  }
}
