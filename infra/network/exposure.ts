import { isIP } from 'node:net';
import type { Config } from '../config.ts';

/**
 * True if strangers may reach the service: it listens beyond loopback, or a setting says that it is behind a proxy, which makes every
 * stranger a peer on this machine.
 */
export function isExposed({
  HOST,
  BASE_URL,
  TRUSTED_PROXIES,
}: Pick<Config, 'HOST' | 'BASE_URL' | 'TRUSTED_PROXIES'>): boolean {
  return !isLoopback(HOST) || BASE_URL !== '' || TRUSTED_PROXIES !== '';
}

/** True if a name or an address, with or without brackets, always means this machine. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
