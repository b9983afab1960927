import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { BucketError } from './bucket-error.ts';

/** Resolves a name to all of its addresses. */
export type Resolve = (
  name: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/**
 * The DNS look-up of a socket, with every address of the name checked here. The socket connects to one of these same
 * addresses, so the name cannot resolve to another machine between check and connection. One forbidden address rejects
 * the whole name, because a public name has no reason to point to an internal address.
 */
export function guardedLookup(
  mayConnect: (address: string) => boolean,
  resolve: Resolve = lookup,
): LookupFunction {
  return (name, options, done) => {
    // `family` and `hints` are not passed on: all addresses of a name are checked.
    resolve(name, { all: true }, (error, found) => {
      const first = found?.[0];
      if (error) done(error, '');
      else if (first === undefined || !found.every(({ address }) => mayConnect(address))) {
        done(addressRejected(name), '');
      } else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
  };
}

/**
 * Rejects a forbidden host that is an IP address itself, for which no look-up runs. @throws {BucketError}
 * address-refused
 */
export function rejectForbiddenLiteral(host: string, mayConnect: (address: string) => boolean): void {
  if (isIP(host) !== 0 && !mayConnect(host)) throw addressRejected(host);
}

function addressRejected(host: string): BucketError {
  const message = `this service may not connect to the address of ${host}; its operator can allow the address in the setting ENDPOINTS_ALLOWED`;
  return new BucketError('address-refused', message);
}
