import { BlockList, isIP } from 'node:net';
import { must } from '../assert.ts';

// What is no single public machine, by the registries of special addresses (RFC 6890 and those after it).
const INTERNAL_IPV4 = blockList('ipv4', [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by carriers
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, and the metadata of cloud machines
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // relays of 6to4
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
]);

// Of IPv6, what is global is the exception: loopback, unspecified, unique-local, link-local, site-local, multicast, and
// what nobody has assigned are all outside.
const GLOBAL_IPV6 = blockList('ipv6', [['2000::', 3]]);
const INTERNAL_IPV6 = blockList('ipv6', [
  ['2001::', 23], // protocol assignments, Teredo among them
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which leads to an IPv4 address
  ['3fff::', 20], // documentation
]);
// IPv6 that is IPv4 in its last 32 bits: mapped, and translated by the well-known prefix of NAT64.
const HOLDS_IPV4 = blockList('ipv6', [
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
]);

/**
 * Whether an address is of the public internet, so that a connection there on somebody's behalf reaches nothing that only
 * we can reach. False for what is no address, and for one with a zone.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return false;
  if (family === 4) return !INTERNAL_IPV4.check(address, 'ipv4');
  if (HOLDS_IPV4.check(address, 'ipv6')) return isPublicAddress(lastIpv4(address));
  return GLOBAL_IPV6.check(address, 'ipv6') && !INTERNAL_IPV6.check(address, 'ipv6');
}

function blockList(family: 'ipv4' | 'ipv6', ranges: readonly (readonly [network: string, prefix: number])[]) {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family);
  return list;
}

/** The last 32 bits of an IPv6 address, in any of its spellings. */
function lastIpv4(address: string): string {
  // The standard spelling has no dotted part; what `::` stands for is all zero.
  const [, spelled] = must(
    /^\[(.*)\]$/.exec(new URL(`http://[${address}]`).hostname),
    'an IPv6 host has brackets',
  );
  const groups = must(spelled, 'brackets hold an address').split(':');
  const [high, low] = groups.slice(-2).map((group) => Number.parseInt(group || '0', 16));
  const bits = must(high, 'two groups') * 65_536 + must(low, 'two groups');
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
}
