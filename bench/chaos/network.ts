import { spawnSync } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { must } from '../../infra/assert.ts';
import type { Places } from '../cluster/places.ts';
import { isAlive, runAsRoot } from './root.ts';

/** The properties of a slow network: packets that wait longer than `queueMs` are dropped. */
export interface Slowness {
  readonly kilobits: number;
  readonly queueMs: number;
}

/** The network location of one process, or of a few that share an address. */
interface Place {
  readonly space: string;
  /** The end of its cable that is plugged into the bridge. */
  readonly port: string;
  readonly address: string;
}

const INSIDE = 'eth0';
/** An address of no host: packets to it are dropped without notice to the sender. */
const NO_HOST = '02:00:00:00:00:01';
/** Little more than one packet, so that the next one waits. */
const BURST = '2kb';
const PROBE_MAX_S = 1;
const BRIDGE = /\bff(\d+)br\b/g;
/** The names of a network's parts begin with these and the id of the process that made them. */
const bridgeOf = (pid: number) => `ff${pid}br`;
const spaceOf = (pid: number, name: string) => `footfall-${pid}-${name}`;

/**
 * A private network of this run: each process in a network namespace, all on one bridge, on which this process has an address,
 * too. Cables can be pulled, and packets between two of them lost or delayed. It ends with this process; the next run removes
 * leftovers of a killed one.
 */
export class PrivateNetwork implements Places, Disposable {
  readonly #places = new Map<string, Place>();
  readonly #removeOnExit = () => this[Symbol.dispose]();

  /** Throws where it is not allowed, as anywhere without root. */
  constructor(names: readonly string[]) {
    removeLeftovers();
    process.once('exit', this.#removeOnExit);
    try {
      const bridge = bridgeOf(process.pid);
      const subnet = freeSubnet();
      ip(`link add ${bridge} type bridge`);
      ip(`addr add ${subnet}.1/24 dev ${bridge}`);
      ip(`link set ${bridge} up`);
      for (const [index, name] of names.entries()) {
        const place = {
          space: spaceOf(process.pid, name),
          port: `ff${process.pid}n${index}`,
          address: `${subnet}.${index + 2}`,
        };
        ip(`netns add ${place.space}`);
        this.#places.set(name, place);
        ip(`link add ${place.port} type veth peer name ${INSIDE} netns ${place.space}`);
        ip(`link set ${place.port} master ${bridge} up`);
        ip(`-n ${place.space} link set lo up`);
        ip(`-n ${place.space} addr add ${place.address}/24 dev ${INSIDE}`);
        ip(`-n ${place.space} link set ${INSIDE} up`);
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  addressOf(name: string): string {
    return this.#place(name).address;
  }

  inside(name: string, command: string, args: readonly string[]): readonly [string, readonly string[]] {
    // Unlike `ip netns exec`, it leaves the mounts as they are.
    return ['nsenter', [`--net=/run/netns/${this.#place(name).space}`, '--', command, ...args]];
  }

  /** Pulls the cable of a place: nothing reaches it or leaves it, and its connections stay open. */
  cut(name: string): void {
    ip(`link set ${this.#place(name).port} down`);
  }

  /** Plugs the cable in again. */
  join(name: string): void {
    ip(`link set ${this.#place(name).port} up`);
  }

  /** Loses every packet from one place to others; packets in the other direction still arrive. */
  lose(from: string, to: readonly string[]): void {
    for (const name of to)
      ip(
        `-n ${this.#place(from).space} neigh replace ${this.addressOf(name)} lladdr ${NO_HOST} dev ${INSIDE} nud permanent`,
      );
  }

  /** Packets from one place to others arrive again. */
  deliver(from: string, to: readonly string[]): void {
    for (const name of to)
      ip(`-n ${this.#place(from).space} neigh del ${this.addressOf(name)} dev ${INSIDE}`);
  }

  /** Lets these places not reach each other; all others still reach them. */
  separate(names: readonly string[]): void {
    for (const name of names) ip(`link set ${this.#place(name).port} type bridge_slave isolated on`);
  }

  /** Lets separated places reach each other again. */
  unite(names: readonly string[]): void {
    for (const name of names) ip(`link set ${this.#place(name).port} type bridge_slave isolated off`);
  }

  /** Sends all traffic to and from a place through a narrow pipe with a long queue before it. */
  slow(name: string, { kilobits, queueMs }: Slowness): void {
    const pipe = `root tbf rate ${kilobits}kbit burst ${BURST} latency ${queueMs}ms`;
    const { port, space } = this.#place(name);
    runAsRoot('tc', `qdisc add dev ${port} ${pipe}`);
    runAsRoot('tc', `-n ${space} qdisc add dev ${INSIDE} ${pipe}`);
  }

  /** Number of packets that had to wait since `slow`. */
  waited(name: string): number {
    const { port, space } = this.#place(name);
    const waits = [`-s qdisc show dev ${port}`, `-n ${space} -s qdisc show dev ${INSIDE}`].map((question) =>
      Number(/overlimits (\d+)/.exec(runAsRoot('tc', question))?.[1] ?? 0),
    );
    return waits.reduce((sum, count) => sum + count, 0);
  }

  /** Ends `slow`. */
  quicken(name: string): void {
    const { port, space } = this.#place(name);
    runAsRoot('tc', `qdisc del dev ${port} root`);
    runAsRoot('tc', `-n ${space} qdisc del dev ${INSIDE} root`);
  }

  /** True if a new connection can be opened from one place to a port of another. */
  reaches(from: string, to: string, port: number): boolean {
    const probe = [
      'timeout',
      `${PROBE_MAX_S}`,
      'bash',
      '-c',
      `exec 3<>/dev/tcp/${this.addressOf(to)}/${port}`,
    ];
    const [command, args] = this.inside(from, must(probe[0], 'a command'), probe.slice(1));
    return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
  }

  /** Removes everything. Processes that still run in there are cut off. */
  [Symbol.dispose](): void {
    process.off('exit', this.#removeOnExit);
    remove(process.pid);
  }

  #place(name: string): Place {
    return must(this.#places.get(name), `the network has no place ${name}`);
  }
}

/** Removes the networks of runs that died before they could do so, and ends their remaining processes. */
function removeLeftovers(): void {
  const listed = ip('-o link show type bridge');
  for (const [, text] of listed.matchAll(BRIDGE)) {
    const pid = Number(text);
    if (pid === process.pid || !isAlive(pid)) remove(pid);
  }
}

function remove(pid: number): void {
  const attempt = (line: string) => spawnSync('ip', line.split(' '), { encoding: 'utf8' }).stdout ?? '';
  const links = attempt('-o link show').matchAll(new RegExp(`\\bff${pid}n\\d+\\b`, 'g'));
  for (const [port] of links) attempt(`link delete ${port}`);
  for (const [space] of attempt('netns list').matchAll(new RegExp(`^${spaceOf(pid, '')}\\S+`, 'gm'))) {
    for (const inside of attempt(`netns pids ${space}`).split('\n')) {
      const member = Number(inside);
      if (member > 0 && member !== process.pid) spawnSync('kill', ['-KILL', String(member)]);
    }
    attempt(`netns delete ${space}`);
  }
  attempt(`link delete ${bridgeOf(pid)}`);
}

/** The beginning of addresses that nothing on this machine has. */
function freeSubnet(): string {
  const taken = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  for (let tries = 0; tries < 10_000; tries += 1) {
    const number = process.pid + tries;
    const subnet = `10.${200 + (Math.floor(number / 256) % 50)}.${number % 256}`;
    if (!taken.some(({ address }) => address.startsWith(`${subnet}.`))) return subnet;
  }
  throw new Error(
    'all of 10.200.0.0 to 10.249.255.255 is taken on this machine; remove networks that are not in use',
  );
}

function ip(line: string): string {
  return runAsRoot('ip', line);
}
