import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../launch/ports.ts';
import { projectRoot } from '../root.ts';
import { clusterConfig } from './cluster-config.ts';
import { untilFormed } from './formed-cluster.ts';
import { startNatsServer } from './nats-server.ts';

const USERS_FILE = 'nats-users.conf';
/** Beside it, and not in the repository. */
const PASSWORDS_FILE = 'nats-passwords.conf';
const INCLUDED = `include ./${USERS_FILE}`;
const USERS_TEXT = readFileSync(join(projectRoot, 'infra/operations/users', USERS_FILE), 'utf8');

/** An act of a bus user on a subject, done or permitted. The subject of a right may have wildcards. */
export interface BusAct {
  readonly user: string;
  readonly kind: 'publish' | 'subscribe';
  readonly subject: string;
}

/** Real nats-servers with the users of `infra/operations/users`, which write down all that these do. */
export interface BusWithUsers {
  /** In the form of `NATS_URL`, with user and password. */
  urlOf(user: string): string;
  /** Acts of users so far, refused ones included, with the first word of the name of each connection. */
  acts(): readonly (BusAct & { readonly program: string })[];
  /** Acts that the servers have refused so far. */
  refused(): readonly BusAct[];
  stop(): Promise<void>;
}

/** Starts one server, or the three of a cluster, with the file of the folder as it is. */
export async function startBusWithUsers(count: 1 | 3): Promise<BusWithUsers> {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-bus-users-'));
  const ports = await freePorts('127.0.0.1', 2 * count);
  const servers = await Promise.all(
    ports.slice(count).map(async (port, index) => {
      const dataDir = join(folder, String(index));
      const log = join(dataDir, 'server.log');
      mkdirSync(dataDir);
      writeFileSync(join(dataDir, USERS_FILE), USERS_TEXT);
      const passwords = busUsers().map((user) => `${user.toUpperCase()}_PASSWORD: "${passwordOf(user)}"`);
      writeFileSync(join(dataDir, PASSWORDS_FILE), passwords.join('\n'));
      const config = [
        'trace: true',
        'max_traced_msg_len: 32',
        count === 1 ? INCLUDED : clusterConfig(ports.slice(0, count), index),
      ];
      const server = await startNatsServer({ dataDir, port, logFile: log, config: config.join('\n') });
      return { dataDir, log, server };
    }),
  );
  if (count > 1) {
    // None of the users may find out whether the cluster is whole.
    const plain = servers.map(({ server }) => server);
    await untilFormed(plain.map(({ url }) => url).join(','), plain);
    for (const { dataDir } of servers) appendFileSync(join(dataDir, 'nats.conf'), `${INCLUDED}\n`);
    await Promise.all(plain.map((server) => server.restart()));
  }
  const logged = <Act>(actsIn: (log: string) => readonly Act[]) =>
    servers.flatMap(({ log }) => actsIn(readFileSync(log, 'utf8')));
  return {
    urlOf: (user) =>
      servers
        .map(({ server }) => server.url.replace('nats://', `nats://${user}:${passwordOf(user)}@`))
        .join(','),
    acts: () => logged(allActs),
    refused: () => logged(refusedActs),
    stop: async () => {
      await Promise.all(servers.map(({ server }) => server.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The users of the file. */
export function busUsers(): readonly string[] {
  return [...USERS_TEXT.matchAll(/^ +user: (\w+),/gm)].map(([, user = '']) => user);
}

/** The rights of each user in the file; `deny` lists are left out. */
export function busRights(): readonly BusAct[] {
  const users = USERS_TEXT.split(/^ +user: /m);
  return users.slice(1).flatMap((text) => {
    const [user = ''] = text.split(',');
    const [publish = '', subscribe = ''] = text.replace(/deny: \[.*\]/, '').split('subscribe: ');
    const named = (kind: BusAct['kind'], part: string) =>
      [...part.matchAll(/"(.*?)"/g)].map(([, subject = '']) => ({ user, kind, subject }));
    return [...named('publish', publish), ...named('subscribe', subscribe)];
  });
}

/** True if a right allows the act. */
export function isOf(act: BusAct, right: BusAct): boolean {
  return act.user === right.user && act.kind === right.kind && isMatch(act.subject, right.subject);
}

/** True if a subject matches a pattern with the wildcards `*` and `>`. */
export function isMatch(subject: string, pattern: string): boolean {
  const given = subject.split('.');
  const tokens = pattern.split('.');
  const fixed = tokens.at(-1) === '>' ? tokens.slice(0, -1) : tokens;
  const isLong = fixed === tokens ? given.length === tokens.length : given.length >= tokens.length;
  return isLong && fixed.every((token, at) => token === '*' || token === given[at]);
}

function passwordOf(user: string): string {
  return `pass-phrase-of-${user}`;
}

function refusedActs(log: string): readonly BusAct[] {
  const refusals = log.matchAll(/ (Publish|Subscription) Violation - User "(.*?)", Subject "(.*?)"/g);
  return [...refusals].map(([, what, user = '', subject = '']) => ({
    user,
    kind: what === 'Publish' ? 'publish' : 'subscribe',
    subject,
  }));
}

function allActs(log: string): ReturnType<BusWithUsers['acts']> {
  const connections = new Map<string, { readonly user: string; readonly program: string }>();
  const acts: (BusAct & { readonly program: string })[] = [];
  const lines = log.matchAll(/ (cid:\d+) - .*?<<- \[(CONNECT|H?PUB|SUB) (.*)\]$/gm);
  for (const [, connection = '', verb = '', rest = ''] of lines) {
    if (verb === 'CONNECT') {
      const [, program = ''] = /"name":"(\S*?)[" ]/.exec(rest) ?? [];
      connections.set(connection, { user: /"user":"(.*?)"/.exec(rest)?.[1] ?? '', program });
      continue;
    }
    const { user, program } = connections.get(connection) ?? { user: '', program: '' };
    const [subject = ''] = rest.split(' ');
    acts.push({ user, program, kind: verb === 'SUB' ? 'subscribe' : 'publish', subject });
  }
  return acts;
}
