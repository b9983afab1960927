import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bus } from '../../infra/bus/bus.ts';
import { configuredBus } from '../../infra/bus/bus-servers.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { readConfig } from '../../infra/config.ts';
import { createLogger } from '../../infra/log.ts';
import { agreeOnLanes } from '../../infra/process/agreed-lanes.ts';
import { decodeEntityUpdates, entitySubjectOf } from '../../ingest/entity-update.ts';
import { decodeMessageHead, subjectOf } from '../../ingest/event.ts';
import { EventView } from '../fold/event-view.ts';
import { checkMessage } from '../fold/fold.ts';
import { DEAD_LETTERS_STREAM, type DeadLetter, decodeDeadLetter } from './dead-letter.ts';

const USAGE = `usage: npm run dead-letters -- list | replay

  list     one line for each message that could not be read
  replay   puts those that this program can read back into the stream, once each`;
const PUBLISH_TIMEOUT_MS = 10_000;
const LETTER_PUBLISHER = 0xdeadn << 48n;

/** The program behind `npm run dead-letters`: reads the bus at `NATS_URL`, else the bus of a running `npm start`. */
async function main(command: string | undefined): Promise<void> {
  if (command !== 'list' && command !== 'replay') {
    process.stdout.write(`${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  const config = readConfig();
  const url = config.NATS_URL === '' ? localBusUrl(config.DATA_DIR) : config.NATS_URL;
  const bus = await Bus.connect(
    configuredBus(config, { name: 'dead-letters', url }),
    createLogger('dead-letters', 'warn'),
  );
  const lanes = await agreeOnLanes(bus, 0);
  let replayed = 0;
  let left = 0;
  for await (const { sequence, bytes } of bus.messages(DEAD_LETTERS_STREAM)) {
    const letter = decodeDeadLetter(bytes);
    if (command === 'replay' && (await replay(bus, lanes, letter))) {
      await bus.remove(DEAD_LETTERS_STREAM, sequence);
      replayed += 1;
      continue;
    }
    left += 1;
    const { stream, partition, sequence: original, reason } = letter;
    process.stdout.write(
      `${stream} of lane ${partition}, message ${original}, ${letter.bytes.length} bytes: ${reason}\n`,
    );
  }
  process.stdout.write(
    command === 'list' ? `${left} dead letters\n` : `${replayed} replayed, ${left} left\n`,
  );
  await bus.close();
}

function localBusUrl(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, 'bus/url'), 'utf8');
  } catch {
    throw new Error(`no service has run on ${dataDir}: set DATA_DIR, or NATS_URL`);
  }
}

/**
 * Publishes a letter's message again, if this program can read it. It gets a publisher of its own, because its first
 * one has sent higher numbers since; the same letter always gets the same publisher, so that replaying it twice counts
 * once.
 */
async function replay(bus: Bus, lanes: number, letter: DeadLetter): Promise<boolean> {
  const { stream, partition, bytes } = letter;
  const message = Buffer.from(bytes);
  try {
    if (stream === 'events') checkMessage(message, new EventView());
    else decodeEntityUpdates(message, decodeMessageHead(message).count);
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
  message.writeBigUInt64LE(LETTER_PUBLISHER | letterHash(letter), 1);
  message.writeDoubleLE(1, 9);
  // Letters of earlier releases name one of their partitions.
  const lane = partition % lanes;
  const subject = stream === 'events' ? subjectOf(lane) : entitySubjectOf(lane);
  await bus.publish(subject, message, PUBLISH_TIMEOUT_MS);
  return true;
}

/** 48 bits of a letter: streams are numbered anew, so its place alone does not tell it apart. */
function letterHash({ stream, partition, sequence, bytes }: DeadLetter): bigint {
  const hash = createHash('sha256').update(`${stream} ${partition} ${sequence}\n`).update(bytes).digest();
  return BigInt(hash.readUIntLE(0, 6));
}

main(process.argv[2]).catch((error: unknown) => {
  process.stderr.write(`dead-letters: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
