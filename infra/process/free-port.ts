import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { ConfigError } from '../config.ts';

const LISTENING = '0A';

/**
 * Rejects when another program listens on the port: the HTTP library would silently share it. The processes of one group
 * share it on purpose. They are known by `mark`, a text in their environment that no other process has; empty for a process
 * that shares with none.
 */
export async function checkPort(host: string, port: number, mark: string): Promise<void> {
  if (port === 0) return;
  // A probe that listens would be in the way of the others of the group, which look at the same time.
  if (mark !== '') {
    const listeners = listenersOn(port);
    if (listeners?.size === 0) return;
    if (listeners !== undefined && hasListener(listeners, mark)) return;
  }
  await new Promise<void>((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) =>
      reject(new ConfigError(`PORT: ${host}:${port} cannot be used: ${error.message}`)),
    );
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}

/** The sockets that listen on a port of any address, by inode; undefined where the system does not list them. */
function listenersOn(port: number): ReadonlySet<string> | undefined {
  const tables = [tableOf('tcp'), tableOf('tcp6')];
  if (tables[0] === undefined) return undefined; // Without IPv6 there is no second one.
  const portText = port.toString(16).toUpperCase().padStart(4, '0');
  const inodes = new Set<string>();
  for (const line of tables.flatMap((table) => table?.split('\n').slice(1) ?? [])) {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    if (state === LISTENING && local.endsWith(`:${portText}`)) inodes.add(inode);
  }
  return inodes;
}

function tableOf(protocol: 'tcp' | 'tcp6'): string | undefined {
  try {
    return readFileSync(`/proc/net/${protocol}`, 'latin1');
  } catch {
    return undefined;
  }
}

/** True if a process with the mark in its environment has one of the sockets. */
function hasListener(inodes: ReadonlySet<string>, mark: string): boolean {
  return readdirSync('/proc').some(
    (pid) => /^\d+$/.test(pid) && hasMark(pid, mark) && socketsOf(pid).some((inode) => inodes.has(inode)),
  );
}

function hasMark(pid: string, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark);
  } catch {
    return false; // A process of another user, or one that has ended.
  }
}

function socketsOf(pid: string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => inodeOf(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}

function inodeOf(path: string): readonly string[] {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(path))?.[1];
    return inode === undefined ? [] : [inode];
  } catch {
    return [];
  }
}
