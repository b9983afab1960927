import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bus } from '../../../infra/bus/bus.ts';
import type { Config } from '../../../infra/config.ts';
import type { Logger } from '../../../infra/log.ts';

/** The address of the bus. */
export interface BusAddress {
  /** May contain user and password. */
  readonly url: string;
  /** The host and where the address came from, without the password. */
  readonly shown: string;
}

/** `NATS_URL`, or the bus of the service that runs, or last ran, on `DATA_DIR`. */
export function busAddress({ NATS_URL, DATA_DIR }: Pick<Config, 'NATS_URL' | 'DATA_DIR'>): BusAddress {
  const url = NATS_URL === '' ? localBusUrl(DATA_DIR) : NATS_URL;
  const source = NATS_URL === '' ? `DATA_DIR ${DATA_DIR}` : 'NATS_URL';
  if (!URL.canParse(url) || new URL(url).hostname === '') {
    throw new Error(`${source}: expected a bus URL such as nats://127.0.0.1:4222`);
  }
  return { url, shown: `nats://${new URL(url).host} (${source})` };
}

/** Connects to the bus. If it is unreachable, the error says what to do. */
export async function connectTo({ url, shown }: BusAddress, log: Logger): Promise<Bus> {
  try {
    return await Bus.connect({ url, name: 'admin' }, log);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Error(
      `cannot connect to ${shown}: ${problem}; start the service (npm start), or set DATA_DIR or NATS_URL`,
    );
  }
}

function localBusUrl(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, 'bus/url'), 'utf8').trim();
  } catch {
    throw new Error(`no service has run on ${dataDir}; set DATA_DIR or NATS_URL`);
  }
}
