import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { projectRoot } from '../../../infra/root.ts';
import { Client } from '../../cluster/client.ts';
import type { Attack, AttackTarget } from './attack.ts';
import { attackOf } from './attacks.ts';

/** No attack sends more, however fast it is answered. */
const REQUESTS_MAX = 50_000;
const ANSWER_MAX_MS = 60_000;
/** Between two requests of an attacker that keeps a core busy. */
const COMPUTED_MS = 20;
/** Connections are opened in groups, because a listener has a backlog. */
const OPENING_AT_A_TIME = 100;
const OPENING_PAUSE_MS = 10;

export interface AttackPlan {
  readonly attack: string;
  readonly target: AttackTarget;
  readonly seconds: number;
  /** Maximum number of requests at a time; the attack's own when absent. */
  readonly inFlightMax?: number;
}

/**
 * Count of each status; 0 is a connection that ended without one, `unanswered` are requests still waiting when the attack ended.
 */
export type AttackStatuses = Readonly<Record<string, number>>;

/**
 * Runs an attack in its own process with the lowest priority: an attacker has its own machine, and what it computes here
 * must take no time from the service. Resolves when it is over. The plan is written to `folder`.
 */
export async function attackFrom(folder: string, plan: AttackPlan): Promise<AttackStatuses> {
  const path = join(folder, `${plan.attack}.json`);
  writeFileSync(path, JSON.stringify(plan));
  const program = join(projectRoot, 'dist/bench/main.js');
  const child = spawn(process.execPath, [program, 'attack', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`the attack ${plan.attack} ended with ${code}`);
  return JSON.parse(Buffer.concat(pieces).toString('utf8')) as AttackStatuses;
}

/** The program behind `bench/main.ts attack PLAN`: attacks, and prints the statuses as JSON. */
export async function runAttack(planPath: string): Promise<void> {
  const plan = JSON.parse(readFileSync(planPath, 'utf8')) as AttackPlan;
  const attack = attackOf(plan.attack);
  if (new URL(plan.target.url).hostname !== '127.0.0.1') throw new Error('attacks are for this machine only');
  const inFlight = Math.min(attack.inFlight, plan.inFlightMax ?? attack.inFlight);
  const statuses = await (attack.opened === undefined ? flood : holdOpen)(attack, { ...plan, inFlight });
  process.stdout.write(`${JSON.stringify(statuses)}\n`);
}

type Flood = AttackPlan & { readonly inFlight: number };

/** Sends one request after the other on each connection, whatever the answers are. */
async function flood(attack: Attack, { target, seconds, inFlight }: Flood): Promise<AttackStatuses> {
  const client = new Client(inFlight, ANSWER_MAX_MS);
  const statuses: Record<string, number> = {};
  let [next, isOver] = [0, false];
  const sendOnAndOn = async () => {
    while (!isOver && next < REQUESTS_MAX) {
      if (attack.isBusy) compute();
      const { method, path, headers, body } = attack.request(target, next);
      next += 1;
      const status = await client
        .exchange(method, target.url + path, headers, body === undefined ? '' : Buffer.from(body))
        .then(
          (answer) => answer.status,
          () => 0,
        );
      const name = isOver ? 'unanswered' : status;
      statuses[name] = (statuses[name] ?? 0) + 1;
    }
  };
  const sending: Promise<void>[] = [];
  const endMs = performance.now() + seconds * 1_000;
  while (sending.length < inFlight) {
    sending.push(sendOnAndOn());
    if (sending.length % OPENING_AT_A_TIME === 0) await wait(OPENING_PAUSE_MS);
  }
  await Promise.race([wait(Math.max(0, endMs - performance.now())), Promise.all(sending)]);
  isOver = true;
  client.close();
  await Promise.all(sending);
  return statuses;
}

function compute(): void {
  const endMs = performance.now() + COMPUTED_MS;
  while (performance.now() < endMs);
}

/** Opens requests and leaves each unfinished until the end. */
async function holdOpen(attack: Attack, { target, seconds, inFlight }: Flood): Promise<AttackStatuses> {
  const { hostname, port } = new URL(target.url);
  const statuses: Record<string, number> = {};
  const sockets: Socket[] = [];
  const endMs = performance.now() + seconds * 1_000;
  for (let index = 0; index < inFlight; index += 1) {
    const { method, path, headers, body = '' } = attack.request(target, index);
    const lines = Object.entries({ host: hostname, ...headers, 'content-length': String(body.length) });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    let status = '0';
    socket
      .on('error', () => {})
      .on('data', (bytes) => {
        status = /^HTTP\/1\.1 (\d+)/.exec(bytes.toString('latin1'))?.[1] ?? status;
      })
      .on('close', () => {
        statuses[status] = (statuses[status] ?? 0) + 1;
      });
    socket.write(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body.slice(0, attack.opened)}`);
    if (index % OPENING_AT_A_TIME === 0) await wait(OPENING_PAUSE_MS);
  }
  await wait(Math.max(0, endMs - performance.now()));
  const closed = sockets.filter(({ closed }) => !closed).map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
  return statuses;
}
