import type { Bus } from '../bus/bus.ts';
import { shownServers } from '../bus/bus-servers.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { listed } from '../store/listed.ts';

/** A server that a service needs. `since` is in milliseconds since 1970. */
export interface Dependency {
  readonly name: 'bus' | 'store';
  /** The setting that says where the server is. */
  readonly setting: 'NATS_URL' | 'CLICKHOUSE_URL';
  readonly up: boolean;
  readonly since: number;
  /** The number of the server, for a setting that lists several that do not replace each other: a shard of the store. */
  readonly server?: number;
}

/** A dependency as `/healthz/ready` reports it. */
export interface ReportedDependency {
  readonly name: string;
  /** Host and port, without user and password; of several servers all. */
  readonly address: string;
  readonly setting: string;
  /** The services of this process that need it. */
  readonly neededBy: readonly string[];
  readonly up: boolean;
  readonly since: string;
}

export function reportedDependency(
  { name, setting, up, since, server = 0 }: Dependency,
  neededBy: readonly string[],
  config: Pick<Config, Dependency['setting']>,
): ReportedDependency {
  const address =
    setting === 'NATS_URL'
      ? shownServers(config.NATS_URL)
      : new URL(listed(config[setting])[server] ?? '').host;
  return { name, address, setting, neededBy, up, since: new Date(since).toISOString() };
}

/** Tracks the availability of the bus, and since when; a change is noticed when the state is read. */
export class BusWatch {
  readonly #bus: Pick<Bus, 'connected'>;
  readonly #clock: Clock;
  #up: boolean;
  #since: number;

  constructor(bus: Pick<Bus, 'connected'>, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    this.#up = bus.connected;
    this.#since = clock.nowMs();
  }

  get dependency(): Dependency {
    if (this.#bus.connected !== this.#up) {
      this.#up = this.#bus.connected;
      this.#since = this.#clock.nowMs();
    }
    return { name: 'bus', setting: 'NATS_URL', up: this.#up, since: this.#since };
  }
}
