import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Credentials } from '../cluster/client.ts';
import { readCredentials } from '../cluster/cluster.ts';

/** There is no service to send to; the message is fit for the terminal. */
export class StoppedServiceError extends Error {
  override readonly name = 'StoppedServiceError';
}

const ANSWER_MAX_MS = 1_500;

/** The credentials in a data folder. Throws a StoppedServiceError when no service was ever started with it. */
export function startedCredentials(dataDir: string): Credentials {
  const path = join(dataDir, 'credentials.json');
  if (existsSync(path)) return readCredentials(dataDir);
  throw new StoppedServiceError(
    `There is no ${path}, which the first start writes. Start footfall with \`npm start\`, or set DATA_DIR to the folder of a running one.`,
  );
}

/** Rejects with a StoppedServiceError when no footfall answers at this address. */
export async function requireService(url: string): Promise<void> {
  if (!url.startsWith('http:'))
    throw new StoppedServiceError(
      `${url} is not an address of footfall itself, which speaks plain HTTP. Name that one with --url, such as --url http://127.0.0.1:3000.`,
    );
  const problem = await probe(url);
  if (problem === '') return;
  throw new StoppedServiceError(
    `footfall does not answer at ${url}: ${problem}. Start it with \`npm start\`, or name the address of a running one with --url.`,
  );
}

/** Why no footfall answers there; empty when one does. */
function probe(url: string): Promise<string> {
  return new Promise((resolve) => {
    const outgoing = request(`${url}/healthz/live`, { agent: false, timeout: ANSWER_MAX_MS }, (incoming) => {
      resolve(incoming.statusCode === 200 ? '' : `another program does (${incoming.statusCode})`);
      incoming.destroy();
    });
    outgoing.once('timeout', () => {
      resolve('the connection opens, and nothing comes back');
      outgoing.destroy();
    });
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'ECONNREFUSED' ? 'nothing listens there' : error.message);
    });
    outgoing.end();
  });
}
