import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** IPv6 is internal by default: only the registry's assignments to global unicast are public. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
/**
 * IPv6 ranges that contain an IPv4 address in the last 32 bits: mapped, and translated by the well-known prefix of
 * NAT64.
 */
const HOLDS_IPV4 = [ipaddr.IPv6.parseCIDR('::ffff:0:0/96'), ipaddr.IPv6.parseCIDR('64:ff9b::/96')];
const COMPATIBLE = /^::\d+\./;

/**
 * True if an address is on the public internet. A connection to such an address on a customer's behalf reaches no machine that only this
 * service can reach. False for a text that is no address, and for an address with a zone.
 */
export function isPublicAddress(address: string): boolean {
  // ipaddr.js would also parse `127.1`, `0x7f.1` and octal numbers, and takes the compatible `::8.8.8.8` for a mapped
  // one.
  if (isIP(address) === 0 || address.includes('%') || COMPATIBLE.test(address)) return false;
  return isPublic(ipaddr.parse(address));
}

/** To ipaddr.js, `unicast` is what no registry of special addresses contains (RFC 6890 and later). */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  if (HOLDS_IPV4.some((range) => address.match(range)))
    return isPublic(new ipaddr.IPv4(address.toByteArray().slice(-4)));
  return address.range() === 'unicast' && address.match(GLOBAL_IPV6);
}
