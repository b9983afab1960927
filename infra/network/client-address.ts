import { BlockList, isIP } from 'node:net';
import { ConfigError } from '../config.ts';
import type { RequestHead } from '../http/http.ts';
import { readAddressRange } from './address-range.ts';

/** The usual headers in which proxies name the original sender. */
export const FORWARDING_HEADERS = [
  'x-forwarded-for',
  'x-real-ip',
  'forwarded',
  'cf-connecting-ip',
  'true-client-ip',
];

const PRIVATE_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
];
const PRIVATE = new BlockList();
for (const [network, prefix] of PRIVATE_IPV6) PRIVATE.addSubnet(network, prefix, 'ipv6');

export interface ProxySettings {
  /** `TRUSTED_PROXIES`: addresses and CIDR ranges, comma-separated, or `any`. */
  readonly trusted: string;
  /** `CLIENT_IP_HEADER`: the header in which the proxies name the sender. */
  readonly header: string;
  readonly onIgnored?: (peer: string) => void;
}

/**
 * The peers whose forwarding headers are believed. By default none, not even on this machine: otherwise any sender that
 * can reach a bare port could claim any address, also through a forwarder that passes headers on unread.
 */
export class TrustedProxies {
  /** The one header that is read: senders can set all those that their proxy does not write. */
  readonly header: string;
  /** Called with each peer whose forwarding headers are ignored, because it is not trusted. */
  readonly onIgnored: (peer: string) => void;
  readonly #all: boolean;
  readonly #list = new BlockList();
  readonly #any: boolean;

  /** Throws a ConfigError when `trusted` cannot be read. */
  constructor({ trusted, header, onIgnored = () => {} }: ProxySettings) {
    this.header = header.toLowerCase();
    this.onIgnored = onIgnored;
    const entries = trusted
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
    this.#all = entries.includes('any');
    this.#any = entries.length > 0;
    for (const entry of entries) if (entry !== 'any') this.#add(entry);
  }

  trusts(peer: string): boolean {
    if (!this.#any || peer === '') return false;
    return this.#all || this.#list.check(peer, peer.includes(':') ? 'ipv6' : 'ipv4');
  }

  #add(entry: string): void {
    const range = readAddressRange(entry);
    if (range === undefined)
      throw new ConfigError(`TRUSTED_PROXIES: ${entry} is not an address, a CIDR range or \`any\``);
    this.#list.addSubnet(range.network, range.prefix, range.family);
  }
}

/**
 * What is known of the visitor's address before the client is authenticated. The peer and all addresses are in their
 * normal form; empty when absent.
 */
export interface AddressClaims {
  readonly peer: string;
  /** The peer is a trusted proxy. */
  readonly peerTrusted: boolean;
  /** The address that a trusted proxy forwards for. */
  readonly forwarded: string;
}

/** Reads the peer and, if it is a trusted proxy, the address that it forwards for. */
export function readAddressClaims(head: RequestHead, proxies: TrustedProxies): AddressClaims {
  const peer = normalAddress(head.remoteAddress());
  if (proxies.trusts(peer))
    return {
      peer,
      peerTrusted: true,
      forwarded: forwardedAddress(head.headerLines(proxies.header), proxies),
    };
  if (isForwarded(head, proxies.header)) proxies.onIgnored(peer);
  return { peer, peerTrusted: false, forwarded: '' };
}

function isForwarded(head: RequestHead, header: string): boolean {
  return FORWARDING_HEADERS.some((name) => head.header(name) !== '') || head.header(header) !== '';
}

/**
 * The visible end of the chain. Each proxy appends the address that it received the request from, so the entries are read
 * from the right, past trusted proxies: what stands left of the first other address may be made up. When all are trusted,
 * the first one counts; an entry that is no address ends the chain.
 */
function forwardedAddress(lines: string, proxies: TrustedProxies): string {
  const entries = lines === '' ? [] : lines.split(',');
  let found = '';
  for (let index = entries.length - 1; index >= 0; index -= 1) {
    const address = addressIn(entries[index] ?? '', proxies.header);
    if (address === '') return found;
    found = address;
    if (!proxies.trusts(address)) return found;
  }
  return found;
}

/**
 * The sender's address: the first public one of what an authenticated client claims, and what a trusted proxy says or
 * else the peer. When none is public, as within one network, the first one.
 */
export function senderAddress(claims: AddressClaims, claimed: readonly string[]): string {
  // The usual case on a bare port. Judging an address costs more than reading the rest of the request's head.
  if (claimed.length === 0) return claims.forwarded || claims.peer;
  const believed = claimed.map(normalAddress);
  believed.push(claims.forwarded || claims.peer);
  return believed.find(isPublic) ?? believed.find((address) => address !== '') ?? '';
}

/** The address that limits count by: never one that a client merely claims. */
export function limitedAddress(claims: AddressClaims): string {
  return claims.forwarded || claims.peer;
}

/**
 * The normal form, in which addresses are compared: no port, brackets or zone; IPv6 in its short form; an IPv4 address
 * that came as IPv6 is IPv4. Empty when `text` is no address.
 */
export function normalAddress(text: string): string {
  const bare = withoutPort(text.trim());
  const family = isIP(bare);
  if (family !== 6) return family === 4 ? bare : '';
  const zone = bare.indexOf('%');
  const short = new URL(`http://[${zone < 0 ? bare : bare.slice(0, zone)}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (mapped === null) return short;
  const high = Number.parseInt(mapped[1] ?? '', 16);
  const low = Number.parseInt(mapped[2] ?? '', 16);
  return `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
}

/** Whether an address in its normal form may be one of the public internet. Documentation ranges count as public. */
export function isPublic(address: string): boolean {
  if (address === '') return false;
  return address.includes(':') ? !PRIVATE.check(address, 'ipv6') : !isPrivateIpv4(address);
}

/**
 * Compares the first two octets; a block list would take longer for this than reading the whole head of the request.
 */
function isPrivateIpv4(address: string): boolean {
  const dot = address.indexOf('.');
  const first = Number(address.slice(0, dot));
  if (first === 0 || first === 10 || first === 127 || first >= 224) return true;
  if (first !== 100 && first !== 169 && first !== 172 && first !== 192) return false;
  const second = Number(address.slice(dot + 1, address.indexOf('.', dot + 1)));
  if (first === 100) return second >= 64 && second < 128;
  if (first === 169) return second === 254;
  if (first === 172) return second >= 16 && second < 32;
  return second === 168;
}

function addressIn(entry: string, header: string): string {
  if (header !== 'forwarded') return normalAddress(entry);
  const named = /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]*)/i.exec(entry.trim())?.[1] ?? '';
  return normalAddress(named.replaceAll('"', ''));
}

function withoutPort(text: string): string {
  if (text.startsWith('[')) return text.slice(1, text.indexOf(']'));
  const colon = text.indexOf(':');
  return colon >= 0 && colon === text.lastIndexOf(':') ? text.slice(0, colon) : text;
}
