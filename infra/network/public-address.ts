import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Of IPv6, what is global is the exception: what the registry has assigned to no use is outside. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** IPv6 that is IPv4 in its last 32 bits: mapped, and translated by the well-known prefix of NAT64. */
const HOLDS_IPV4 = [ipaddr.IPv6.parseCIDR('::ffff:0:0/96'), ipaddr.IPv6.parseCIDR('64:ff9b::/96')];
const COMPATIBLE = /^::\d+\./;

/**
 * Whether an address is of the public internet, so that a connection there on somebody's behalf reaches nothing that only
 * we can reach. False for what is no address, and for one with a zone.
 */
export function isPublicAddress(address: string): boolean {
  // ipaddr.js would also read `127.1`, `0x7f.1` and octal numbers, and takes the compatible `::8.8.8.8` for a mapped one.
  if (isIP(address) === 0 || address.includes('%') || COMPATIBLE.test(address)) return false;
  return isPublic(ipaddr.parse(address));
}

/** `unicast` is what ipaddr.js finds in none of the registries of special addresses (RFC 6890 and those after it). */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  if (HOLDS_IPV4.some((range) => address.match(range)))
    return isPublic(new ipaddr.IPv4(address.toByteArray().slice(-4)));
  return address.range() === 'unicast' && address.match(GLOBAL_IPV6);
}
