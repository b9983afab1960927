import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bus } from '../../infra/bus/bus.ts';
import { configuredBus } from '../../infra/bus/bus-servers.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { readConfig } from '../../infra/config.ts';
import { createLogger } from '../../infra/log.ts';
import { agreeOnLanes } from '../../infra/process/agreed-lanes.ts';
import { type LaneLayout, laneNameOf } from '../../infra/process/service-lanes.ts';
import { entityKeyOf } from '../../ingest/entity-lookup.ts';
import {
  decodeEntityUpdates,
  type EntityUpdate,
  entityKindOf,
  entitySubjectOf,
} from '../../ingest/entity-update.ts';
import { decodeMessageHead, laneOf, MESSAGE_HEADER_BYTES, subjectOf } from '../../ingest/event.ts';
import { EventView, laneOfView } from '../fold/event-view.ts';
import { checkMessage } from '../fold/fold.ts';
import { DEAD_LETTERS_STREAM, type DeadLetter, decodeDeadLetter } from './dead-letter.ts';
import { pieceOf } from './message-piece.ts';

const USAGE = `usage: npm run dead-letters -- list | replay

  list     one line for each message, or part of one, that could not be read or stored
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
  const layout = await agreeOnLanes(bus, { lanes: 0, storeShards: 0 });
  let replayed = 0;
  let left = 0;
  for await (const { sequence, bytes } of bus.messages(DEAD_LETTERS_STREAM)) {
    const letter = decodeDeadLetter(bytes);
    if (command === 'replay' && (await replay(bus, layout, letter))) {
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
async function replay(bus: Bus, layout: LaneLayout, letter: DeadLetter): Promise<boolean> {
  const message = Buffer.from(letter.bytes);
  let lanes: readonly number[];
  try {
    lanes = lanesOf(message, letter, layout);
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
  message.writeBigUInt64LE(LETTER_PUBLISHER | letterHash(letter), 1);
  message.writeDoubleLE(1, 9);
  const subject = letter.stream === 'events' ? subjectOf : entitySubjectOf;
  for (const lane of new Set(lanes)) {
    const piece = pieceOf(message, (index) => lanes[index] === lane);
    await bus.publish(subject(laneNameOf(lane, layout)), piece, PUBLISH_TIMEOUT_MS);
  }
  return true;
}

/**
 * The lane of each value of a letter's message: the one that it was sent to, unless the service has grown since.
 * @throws {DecodeError} when this program cannot read the message either
 */
function lanesOf(message: Buffer, { stream, partition }: DeadLetter, layout: LaneLayout): readonly number[] {
  const { count } = decodeMessageHead(message);
  const sent = Array.from({ length: Math.max(1, count) }, () => partition);
  const view = new EventView();
  if (stream === 'events') {
    checkMessage(message, view);
    let offset = MESSAGE_HEADER_BYTES;
    const home = () => {
      offset = view.read(message, offset);
      return laneOfView(view, layout);
    };
    return layout.isGrown && count > 0 ? sent.map(home) : sent;
  }
  const updates = decodeEntityUpdates(message, count);
  if (!layout.isGrown || count === 0) return sent;
  const keyOf = ({ kind, id }: EntityUpdate) => entityKeyOf(entityKindOf(kind), id);
  return updates.map((update) => laneOf(update.projectId, keyOf(update), layout));
}

/** 48 bits of a letter: a new stream numbers its messages from one again, so the letter's place does not identify it. */
function letterHash({ stream, partition, sequence, bytes }: DeadLetter): bigint {
  const hash = createHash('sha256').update(`${stream} ${partition} ${sequence}\n`).update(bytes).digest();
  return BigInt(hash.readUIntLE(0, 6));
}

main(process.argv[2]).catch((error: unknown) => {
  process.stderr.write(`dead-letters: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
