import type { StoredId } from '../../infra/accounts/ids.ts';
import { limitedNetwork } from '../../infra/network/client-address.ts';

/** The limit that another connection would exceed. */
export type Fullness = 'address' | 'site' | 'process';

/** Maximum numbers of open connections. */
export interface ConnectionLimits {
  readonly processMax: number;
  /** For each site, so that no site takes all connections. */
  readonly siteMax: number;
  /** For each IPv4 address or IPv6 /64 network. 0: no limit. */
  readonly addressMax: number;
}

/** Counts the present connections of this process, by site and by address. */
export class ConnectionCounts {
  readonly limits: ConnectionLimits;
  readonly #bySite = new Map<string, number>();
  readonly #byNetwork = new Map<string, number>();
  #all = 0;

  constructor(limits: ConnectionLimits) {
    this.limits = limits;
  }

  /**
   * Counts a connection until the returned function is called; further calls have no effect. Without room, returns the
   * limit. `address` is in its normal form.
   */
  take(storedId: StoredId, address: string): Fullness | (() => void) {
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
