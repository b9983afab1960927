import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { projectRoot } from '../../infra/root.ts';

const LIST = z
  .strictObject({ source: z.string(), domains: z.array(z.string()) })
  .parse(JSON.parse(readFileSync(join(projectRoot, 'ingest/enrich/referrer-spam.json'), 'utf8')));

/** Domains that send no visitors and only want to be seen in lists of referrers. Each covers the hosts below it. */
export const SPAM_DOMAINS: readonly string[] = LIST.domains;
const SPAM: ReadonlySet<string> = new Set(SPAM_DOMAINS);

/** DNS allows no longer names; the limit bounds the walk over the labels. */
const HOST_MAX = 253;

/** The spam domain that a host belongs to; undefined when it belongs to none. `host` is in lower case, without a port. */
export function spamDomainOf(host: string): string | undefined {
  if (host.length > HOST_MAX) return undefined;
  for (let start = 0; start >= 0; start = host.indexOf('.', start) + 1 || -1) {
    const domain = host.slice(start);
    if (SPAM.has(domain)) return domain;
  }
  return undefined;
}
