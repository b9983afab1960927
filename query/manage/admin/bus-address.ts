import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bus } from '../../../infra/bus/bus.ts';
import { type BusOptions, configuredBus, shownServers } from '../../../infra/bus/bus-servers.ts';
import type { Config } from '../../../infra/config.ts';
import type { Logger } from '../../../infra/log.ts';

/** Address of the bus. */
export interface BusAddress {
  /** May contain user and password. */
  readonly bus: BusOptions;
  /** The host and where the address came from, without the password. */
  readonly shown: string;
}

/** `NATS_URL`, or the bus of the service that runs, or last ran, on `DATA_DIR`. */
export function busAddress(config: Config): BusAddress {
  const { NATS_URL, DATA_DIR } = config;
  const url = NATS_URL === '' ? localBusUrl(DATA_DIR) : NATS_URL;
  const source = NATS_URL === '' ? `DATA_DIR ${DATA_DIR}` : 'NATS_URL';
  return {
    bus: configuredBus(config, { name: 'admin', url }),
    shown: `nats://${shownServers(url)} (${source})`,
  };
}

/** Connects to the bus. If it is unreachable, the error contains advice. */
export async function connectTo({ bus, shown }: BusAddress, log: Logger): Promise<Bus> {
  try {
    return await Bus.connect(bus, log);
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
