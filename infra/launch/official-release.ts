import { hashOf } from './http-library.mjs';

/** The address at which the author of the HTTP library publishes the binaries of the version that the package republishes. */
export const OFFICIAL_RELEASE = 'https://raw.githubusercontent.com/uNetworking/uWebSockets.js/v20.52.0/';

/** `missing`: the file could not be had, for this reason. */
export type Comparison =
  | { readonly kind: 'same' }
  | { readonly kind: 'differs'; readonly hash: string }
  | { readonly kind: 'missing'; readonly reason: string };

const TIME_MAX_MS = 120_000;
// The beginnings of binaries for Linux, macOS (two byte orders) and Windows. An interposed page of a network has none of them.
const BEGINNINGS = ['7f454c46', 'cffaedfe', 'feedfacf', '4d5a'];

/** Compares a hash with the official file of that name below `release`, a URL that ends in a slash. */
export async function compareWithOfficial(release: string, name: string, hash: string): Promise<Comparison> {
  const bytes = await download(`${release}${name}`);
  if (typeof bytes === 'string') return { kind: 'missing', reason: bytes };
  const official = hashOf(bytes);
  return official === hash ? { kind: 'same' } : { kind: 'differs', hash: official };
}

/** The bytes of a file, or the reason when there is no such file. */
async function download(url: string): Promise<Uint8Array | string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIME_MAX_MS) });
    if (!response.ok) return `status ${response.status}`;
    const bytes = Buffer.from(await response.arrayBuffer());
    const beginning = bytes.subarray(0, 4).toString('hex');
    return BEGINNINGS.some((known) => beginning.startsWith(known)) ? bytes : 'the answer is no binary';
  } catch (error) {
    const { cause, message } = error as Error;
    return cause instanceof Error ? cause.message : message;
  }
}
