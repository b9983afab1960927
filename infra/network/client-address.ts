import { BlockList, isIP } from 'node:net';
import { ConfigError } from '../config.ts';
import { copyText } from '../http/cut-text.ts';
import { FORWARDED_MAX_CHARACTERS } from '../http/head-limits.ts';
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

/** More than an address with brackets, zone and port takes. */
const ADDRESS_TEXT_MAX = 100;
const IPV6_GROUPS = 8;
const IPV6_NETWORK_GROUPS = 4;
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
  /** The last trusted proxy: most requests come through the same one, and looking it up in the list takes as long as reading the head. */
  #lastTrusted = '';

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

  /** True if any peer is trusted. */
  get any(): boolean {
    return this.#any;
  }

  trusts(peer: string): boolean {
    if (!this.#any || peer === '') return false;
    if (this.#all || peer === this.#lastTrusted) return true;
    const isTrusted = this.#list.check(peer, peer.includes(':') ? 'ipv6' : 'ipv4');
    if (isTrusted) this.#lastTrusted = peer;
    return isTrusted;
  }

  #add(entry: string): void {
    const range = readAddressRange(entry);
    if (range === undefined)
      throw new ConfigError(`TRUSTED_PROXIES: ${entry} is not an address, a CIDR range or \`any\``);
    this.#list.addSubnet(range.network, range.prefix, range.family);
  }
}

/**
 * Claims about the visitor's address, known before the client is authenticated. All addresses are in their normal form; empty when absent.
 */
export class AddressClaims {
  /** The address that a trusted proxy forwards for. */
  readonly forwarded: string;
  /** The head that the peer is read from, until it has been read. */
  #head: Pick<RequestHead, 'remoteAddress'> | undefined;
  #peer = '';

  constructor(head: Pick<RequestHead, 'remoteAddress'>, forwarded = '') {
    this.#head = head;
    this.forwarded = forwarded;
  }

  /**
   * Reading it costs 2 µs, and the claims of a sender with a secret are often enough. For the first time it is read before the request is
   * answered or waits for anything, because the connection may be gone afterwards.
   */
  get peer(): string {
    if (this.#head !== undefined) {
      this.#peer = normalAddress(this.#head.remoteAddress());
      this.#head = undefined;
    }
    return this.#peer;
  }
}

/** Reads the address that the peer forwards for, if the peer is a trusted proxy. */
export function readAddressClaims(head: RequestHead, proxies: TrustedProxies): AddressClaims {
  const claims = new AddressClaims(head);
  if (proxies.any && proxies.trusts(claims.peer))
    // Part of a header that may be long.
    return new AddressClaims(
      head,
      copyText(forwardedAddress(lastEntries(head.headerLines(proxies.header)), proxies)),
    );
  if (isForwarded(head, proxies.header)) proxies.onIgnored(claims.peer);
  return claims;
}

/** The whole entries at the end of a long header. */
function lastEntries(lines: string): string {
  if (lines.length <= FORWARDED_MAX_CHARACTERS) return lines;
  const end = lines.slice(-FORWARDED_MAX_CHARACTERS);
  // The first entry may be the rest of another address.
  const comma = end.indexOf(',');
  return comma < 0 ? '' : end.slice(comma + 1);
}

function isForwarded(head: RequestHead, header: string): boolean {
  return FORWARDING_HEADERS.some((name) => head.header(name) !== '') || head.header(header) !== '';
}

/**
 * The visible end of the chain. Each proxy appends the address of its sender, so the entries are read from the right,
 * past trusted proxies: anything left of the first other address may be forged. When all are trusted, the first one
 * counts. An empty or invalid entry ends the chain: it was written by a proxy that does not know its sender, and this
 * sender may have written everything left of it.
 */
function forwardedAddress(lines: string, proxies: TrustedProxies): string {
  const entries = proxies.header === 'forwarded' ? partsFromEnd(lines, ',') : lines.split(',').reverse();
  let found = '';
  for (const entry of entries) {
    const address = addressIn(entry, proxies.header);
    if (address === '') return found;
    found = address;
    if (!proxies.trusts(address)) return found;
  }
  return found;
}

/**
 * The sender's address: the first public one among the claims of an authenticated client, and then the address from a trusted proxy or else
 * the peer's. When none is public, as within one network, the first one.
 */
export function senderAddress(claims: AddressClaims, claimed: readonly string[]): string {
  let first = '';
  for (const text of claimed) {
    const address = normalAddress(text);
    if (isPublic(address)) return address;
    first ||= address;
  }
  const proven = provenAddress(claims);
  // Judging an address costs more than reading the rest of the request's head.
  return first === '' || isPublic(proven) ? proven : first;
}

/** The sender's address as far as it is known for certain: never one that a client merely claims. */
export function provenAddress(claims: AddressClaims): string {
  return claims.forwarded || claims.peer;
}

/**
 * The key that limits count by: an IPv4 address, or the /64 network of an IPv6 address, because one sender has all addresses of its
 * network. Expects an address in its normal form.
 */
export function limitedNetwork(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? 0 : tail.split(':').length;
    while (groups.length + after < IPV6_GROUPS) groups.push('0');
  }
  return `${groups.slice(0, IPV6_NETWORK_GROUPS).join(':')}::/64`;
}

/**
 * The normal form, in which addresses are compared: no port, brackets or zone; IPv6 in its short form; an IPv4 address
 * that came as IPv6 is IPv4. Empty when `text` is no address.
 */
export function normalAddress(text: string): string {
  if (text.length > ADDRESS_TEXT_MAX) return '';
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

/** True if an address in its normal form may be one of the public internet. Documentation ranges count as public. */
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
  for (const pair of partsFromEnd(entry, ';').toReversed()) {
    const equals = pair.indexOf('=');
    if (equals < 0 || pair.slice(0, equals).trim().toLowerCase() !== 'for') continue;
    const value = pair.slice(equals + 1).trim();
    return normalAddress(unquoted(value));
  }
  return '';
}

/** A quoted text without its quotes; empty for a text with others, or with blanks. */
function unquoted(text: string): string {
  const inner = text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  const isPlain = inner !== text || !text.includes(' ');
  return isPlain && !inner.includes('"') ? inner : '';
}

/**
 * The parts of a `Forwarded` header (RFC 7239) between separators outside quotes, the last one first. It is read from the
 * right, because the right end is the proxies' and the text left of it may have quotes that do not end.
 */
function partsFromEnd(text: string, separator: string): string[] {
  const parts: string[] = [];
  let isQuoted = false;
  let end = text.length;
  for (let index = text.length - 1; index >= 0; index -= 1) {
    if (text[index] === '"' && !isEscaped(text, index)) isQuoted = !isQuoted;
    else if (text[index] === separator && !isQuoted) {
      parts.push(text.slice(index + 1, end));
      end = index;
    }
  }
  parts.push(text.slice(0, end));
  return parts;
}

/** True if an odd number of backslashes precedes a character. */
function isEscaped(text: string, index: number): boolean {
  let before = index;
  while (before > 0 && text[before - 1] === '\\') before -= 1;
  return (index - before) % 2 === 1;
}

function withoutPort(text: string): string {
  if (text.startsWith('[')) return /^\[([^[\]]*)\](?::\d*)?$/.exec(text)?.[1] ?? '';
  const colon = text.indexOf(':');
  return colon >= 0 && colon === text.lastIndexOf(':') ? text.slice(0, colon) : text;
}
