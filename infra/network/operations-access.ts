import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHead } from '../http/http.ts';
import { FORWARDING_HEADERS } from './client-address.ts';
import { isLoopback } from './exposure.ts';

/** Headers that reveal a proxy between the sender and this process. */
const PROXY_HEADERS = [...FORWARDING_HEADERS, 'x-forwarded-host', 'x-forwarded-proto', 'via'];

export interface OperationsRule {
  /** `OPERATIONS_TOKEN`; empty for none. */
  readonly token: string;
  /** True if strangers may reach the process, see `isExposed`. */
  readonly isExposed: boolean;
}

/**
 * Decides who may read the metrics and the details of readiness: with a token, its senders; without one, a sender on this machine, if the
 * process is not exposed. A request is of this machine when it names a loopback address as its host, which a page of another site cannot
 * do, and no proxy passed it on.
 */
export function operationsAccess({ token, isExposed }: OperationsRule): (head: RequestHead) => boolean {
  if (token !== '') {
    const expected = digestOf(token);
    // Digests have one length, and their comparison takes the same time wherever they differ.
    return (head) => timingSafeEqual(digestOf(bearerIn(head.header('authorization'))), expected);
  }
  if (isExposed) return () => false;
  return (head) =>
    isLoopback(hostIn(head.header('host'))) && PROXY_HEADERS.every((name) => head.header(name) === '');
}

function bearerIn(authorization: string): string {
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '';
}

/** Without the port. */
function hostIn(host: string): string {
  return host.replace(/:\d*$/, '');
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
