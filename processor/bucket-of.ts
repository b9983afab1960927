import { BlockList, isIP } from 'node:net';
import { ConfigError } from '../infra/config.ts';
import { readAddressRange } from '../infra/network/address-range.ts';
import { isPublicAddress } from '../infra/network/public-address.ts';
import { ObjectStore } from '../infra/object-store/object-store.ts';
import { unseal } from '../infra/sealed.ts';
import { type Integration, integrationKeyOf } from './integration.ts';

/**
 * CONTRACT with whoever speaks to the bucket of an integration: the processor, which brings files there, and the query
 * room, which tries it out.
 */

/** Whether a connection to an address may be opened on behalf of a customer. */
export type EndpointsAllowed = (address: string) => boolean;

const ANY = 'any';
const NONE = 'none';

/**
 * What the setting `ENDPOINTS_ALLOWED` allows: public addresses, and the listed ones besides; with `none` the listed ones
 * alone.
 * @throws {ConfigError} for what is neither an address, nor a range, nor `any` or `none`
 */
export function readEndpointsAllowed(setting: string): EndpointsAllowed {
  const entries = setting
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  if (entries.includes(ANY)) return () => true;
  const listed = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const entry of entries.filter((one) => one !== NONE)) {
    const range = readAddressRange(entry);
    if (range === undefined) {
      throw new ConfigError(
        `ENDPOINTS_ALLOWED: expected an address, a CIDR range, \`${ANY}\` or \`${NONE}\`: ${entry}`,
      );
    }
    listed[range.family].addSubnet(range.network, range.prefix, range.family);
  }
  const isPublicAllowed = !entries.includes(NONE);
  return (address) => (isPublicAllowed && isPublicAddress(address)) || isListed(listed, address);
}

export interface BucketOptions {
  /** The setting `SECRETS_KEY`. */
  readonly secretsKey: string;
  readonly endpointsAllowed: EndpointsAllowed;
  /** Longest time of one request. */
  readonly timeoutMs: number;
}

/** The bucket of an integration, to be closed by the caller; undefined when its secret cannot be opened. */
export function bucketOf(integration: Integration, options: BucketOptions): ObjectStore | undefined {
  const secretAccessKey = unseal(options.secretsKey, integrationKeyOf(integration.id), integration.sealed);
  if (secretAccessKey === undefined) return undefined;
  const { endpoint, region, bucket, pathStyle, accessKeyId } = integration;
  return new ObjectStore({
    access: { endpoint, region, bucket, pathStyle, accessKeyId, secretAccessKey },
    mayConnect: options.endpointsAllowed,
    timeoutMs: options.timeoutMs,
  });
}

function isListed(listed: Readonly<Record<'ipv4' | 'ipv6', BlockList>>, address: string): boolean {
  const family = isIP(address);
  // An address with a zone is of one machine's link: no list of the service's means it.
  if (family === 0 || address.includes('%')) return false;
  return family === 4 ? listed.ipv4.check(address, 'ipv4') : listed.ipv6.check(address, 'ipv6');
}
