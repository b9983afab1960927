import { isIP } from 'node:net';

/** CONTRACT of a site's filters by address: a single address, or a range in CIDR notation. */
export interface AddressRange {
  readonly network: string;
  /** Leading bits that all addresses of the range share. */
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Reads `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32`; undefined for anything else. */
export function readAddressRange(text: string): AddressRange | undefined {
  const [network = '', bits, ...more] = text.trim().split('/');
  const family = isIP(network);
  if (family === 0 || more.length > 0) return undefined;
  const most = family === 4 ? 32 : 128;
  if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return undefined;
  const prefix = bits === undefined ? most : Number(bits);
  return prefix > most ? undefined : { network, prefix, family: family === 4 ? 'ipv4' : 'ipv6' };
}
