import { limitedNetwork } from '../../infra/network/client-address.ts';

/** Why there is no room for another connection. */
export type Fullness = 'address' | 'site' | 'process';

/** The most open connections. */
export interface ConnectionLimits {
  readonly processMax: number;
  /** For each site, so that none takes the connections of all others. */
  readonly siteMax: number;
  /** For each IPv4 address or IPv6 /64 network. 0: no limit. */
  readonly addressMax: number;
}

/** Counts the open connections of this process, by site and by address. Knows only the present ones. */
export class ConnectionCounts {
  readonly limits: ConnectionLimits;
  readonly #bySite = new Map<string, number>();
  readonly #byNetwork = new Map<string, number>();
  #all = 0;

  constructor(limits: ConnectionLimits) {
    this.limits = limits;
  }

  /**
   * Counts a connection until the returned function is called, once or more often. Without room, why. `address` is in its
   * normal form.
   */
  take(storedId: string, address: string): Fullness | (() => void) {
    const { processMax, siteMax, addressMax } = this.limits;
    const network = limitedNetwork(address);
    if (addressMax > 0 && (this.#byNetwork.get(network) ?? 0) >= addressMax) return 'address';
    if ((this.#bySite.get(storedId) ?? 0) >= siteMax) return 'site';
    if (this.#all >= processMax) return 'process';
    const count = (by: 1 | -1) => {
      this.#all += by;
      countIn(this.#bySite, storedId, by);
      countIn(this.#byNetwork, network, by);
    };
    count(1);
    let isTaken = true;
    return () => {
      if (isTaken) count(-1);
      isTaken = false;
    };
  }
}

function countIn(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
