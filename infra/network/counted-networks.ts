import { limitedNetwork } from './client-address.ts';

/** A network that a sender is part of. */
export interface CountedNetwork {
  readonly name: string;
  /** The limit of the whole network, as a multiple of one sender's limit. */
  readonly times: number;
}

/** The most networks of one address. */
export const COUNTED_NETWORKS_MAX = 3;
const TIMES = { v4By24: 10, v6By56: 3, v6By48: 10 };
const V6_SUFFIX = '::/64';

/**
 * The networks that limits count an address by, the narrowest first: an IPv4 address and its /24; the /64, /56 and /48 of an
 * IPv6 address. One customer has a whole /56 or /48, so a count by /64 only would multiply its limit by 256 or 65,536.
 * The address is in its normal form.
 */
export function countedNetworks(address: string): CountedNetwork[] {
  const narrowest = { name: limitedNetwork(address), times: 1 };
  if (address.includes(':')) {
    const groups = narrowest.name.slice(0, -V6_SUFFIX.length).split(':');
    const by48 = groups.slice(0, 3).join(':');
    const high = Number.parseInt(groups[3] ?? '0', 16) >> 8;
    return [
      narrowest,
      { name: `${by48}:${(high << 8).toString(16)}::/56`, times: TIMES.v6By56 },
      { name: `${by48}::/48`, times: TIMES.v6By48 },
    ];
  }
  const dot = address.lastIndexOf('.');
  return dot < 0 ? [narrowest] : [narrowest, { name: `${address.slice(0, dot)}.0/24`, times: TIMES.v4By24 }];
}
