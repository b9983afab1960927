import type { Config } from '../config.ts';

/** The URL at which people open the service: `BASE_URL`, or else the address that it listens on. */
export function baseUrlOf({ BASE_URL, HOST, PORT }: Pick<Config, 'BASE_URL' | 'HOST' | 'PORT'>): string {
  const host = HOST.includes(':') ? `[${HOST}]` : HOST;
  return BASE_URL || `http://${host}:${PORT}`;
}
