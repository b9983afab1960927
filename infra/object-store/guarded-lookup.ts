import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { BucketError } from './bucket-error.ts';

/** All addresses of a name. */
export type Resolve = (
  name: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/**
 * How a socket finds the address it connects to: every address of the name is judged here, and the socket takes one of
 * these very answers, so that a name cannot mean another machine between the judgement and the connection. One address
 * that may not be is enough to refuse the name: a public name has no business at an internal one.
 */
export function guardedLookup(
  mayConnect: (address: string) => boolean,
  resolve: Resolve = lookup,
): LookupFunction {
  return (name, options, done) => {
    // `family` and `hints` are left out: a name is judged by everything that it stands for.
    resolve(name, { all: true }, (error, found) => {
      const first = found?.[0];
      if (error) done(error, '');
      else if (first === undefined || !found.every(({ address }) => mayConnect(address))) {
        done(addressRefused(name), '');
      } else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
  };
}

/** Refuses a host that is an address itself, which no lookup ever sees. @throws {BucketError} address-refused */
export function judgeLiteral(host: string, mayConnect: (address: string) => boolean): void {
  if (isIP(host) !== 0 && !mayConnect(host)) throw addressRefused(host);
}

function addressRefused(host: string): BucketError {
  return new BucketError('address-refused', `${host} is at an address that this service does not connect to`);
}
