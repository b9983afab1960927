import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Bus } from '../../infra/bus/bus.ts';
import { projectRoot } from '../../infra/root.ts';
import { MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';
import { DEAD_LETTERS_STREAM, type DeadLetter, decodeDeadLetter } from '../dead-letters/dead-letter.ts';
import { EventView } from '../fold/event-view.ts';

/** All dead letters of a bus. */
export async function lettersOn(bus: Bus): Promise<DeadLetter[]> {
  const found: DeadLetter[] = [];
  for await (const { bytes } of bus.messages(DEAD_LETTERS_STREAM)) found.push(decodeDeadLetter(bytes));
  return found;
}

/** The pages of the events in a letter. */
export function pathsIn({ bytes }: DeadLetter): string[] {
  const message = Buffer.from(bytes);
  const view = new EventView();
  const paths: string[] = [];
  for (let offset = MESSAGE_HEADER_BYTES; offset < message.length; ) {
    offset = view.read(message, offset);
    paths.push(message.toString('utf8', view.pageStart, view.pageEnd).replace(/^.*example\.org./s, ''));
  }
  return paths;
}

/** Returns the output of `npm run dead-letters` for a command. */
export async function runDeadLetters(busUrl: string, command: string): Promise<string> {
  const program = join(projectRoot, 'dist/processor/dead-letters/dead-letters.js');
  const env = { ...process.env, NATS_URL: busUrl };
  return (await promisify(execFile)(process.execPath, [program, command], { env })).stdout;
}
