import { connect, createServer, type Socket } from 'node:net';
import { exitWithParent } from '../../infra/process/parent-watch.ts';

// node store-relay.js FROM_HOST FROM_PORT TO_PORT

/**
 * The relay's action on the next insert of events:
 *
 * - `lose`: the store gets it, and the relay ends the connection instead of passing on the answer.
 * - `hold`: the store gets all of it except the last byte. A test then kills the store.
 * - `tell`: only prints a line when the insert begins. A test then kills the store.
 */
type Order = 'lose' | 'hold' | 'tell';

const INSERT = /INSERT(?: |%20|\+)INTO(?: |%20|\+)(?:`?\w+`?\.)?`?events`?(?: |%20|\+|\()/;
const ORDERS: readonly string[] = ['lose', 'hold', 'tell'] satisfies Order[];

let order: Order | undefined;

/** One connection through the relay: bytes pass in both directions as they come. */
function relay(near: Socket, toPort: number): void {
  const far = connect(toPort, '127.0.0.1');
  let applied: Order | undefined;
  let isHeld = false;
  for (const socket of [near, far]) socket.setNoDelay(true);
  near.on('data', (bytes: Buffer) => {
    if (order !== undefined && INSERT.test(bytes.toString('latin1'))) {
      applied = order;
      order = undefined;
      // Said before the store has the insert: a reader of this line can still kill the store in time.
      process.stdout.write(`insert ${applied}\n`);
    }
    if (isHeld) return;
    isHeld = applied === 'hold';
    far.write(isHeld ? bytes.subarray(0, -1) : bytes);
  });
  far.on('data', (bytes: Buffer) => {
    if (applied === undefined) near.write(bytes);
    else if (applied === 'lose') {
      process.stdout.write(`lost ${statusOf(bytes)}\n`);
      near.destroy();
      far.destroy();
    } else {
      process.stdout.write(`answered ${statusOf(bytes)}\n`);
      applied = undefined;
      near.write(bytes);
    }
  });
  for (const [socket, other] of [
    [near, far],
    [far, near],
  ] as const) {
    socket.on('error', () => other.destroy());
    socket.on('end', () => other.end());
    socket.on('close', () => {
      if (applied !== undefined && applied !== 'lose' && socket === far) process.stdout.write('unanswered\n');
      other.destroy();
    });
  }
}

function statusOf(answer: Buffer): string {
  return /^HTTP\/1\.1 (\d+)/.exec(answer.toString('latin1'))?.[1] ?? 'unknown';
}

function main([fromHost = '', fromPort = '', toPort = '']: readonly string[]): void {
  exitWithParent();
  process.stdin.setEncoding('utf8').on('data', (text) => {
    for (const word of String(text).split('\n')) if (ORDERS.includes(word)) order = word as Order;
  });
  const server = createServer((near) => relay(near, Number(toPort)));
  server.listen({ host: fromHost, port: Number(fromPort), backlog: 512 }, () => {
    process.stdout.write('ready {}\n');
  });
}

main(process.argv.slice(2));
