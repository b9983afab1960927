import type { Credential } from '../cluster/client.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { DeviceScript } from './device-script.ts';
import { type Habits, Ledger, PLAIN_HABITS } from './ledger.ts';

const DEVICES = 24;

export interface TrafficOptions {
  readonly seed: number;
  /** The hosts that a request may go to, chosen anew for each try. */
  readonly hosts: readonly string[];
  readonly persistent: boolean;
  readonly paceMs: number;
  /** The site that they visit, and its write client; the credentials' own when absent. */
  readonly site?: { readonly id: string; readonly write: Credential };
}

/** Scripted devices that send to a cluster from the creation of this object until `stop`. */
export class Traffic {
  readonly ledger: Ledger = new Ledger();
  /** The devices' behaviour from now on. */
  habits: Habits = PLAIN_HABITS;
  readonly #finished: Promise<void>;
  #enough = false;

  constructor(cluster: Cluster, options: TrafficOptions) {
    const nowMs = Date.now();
    const urls = options.hosts.map((host) => cluster.url(host));
    let turn = 0;
    this.#finished = this.ledger.drive({
      scripts: Array.from(
        { length: DEVICES },
        (_, index) => new DeviceScript(options.seed * 1_000 + index, nowMs),
      ),
      projectId: options.site?.id ?? cluster.credentials.projectId,
      credential: options.site?.write ?? cluster.credentials.clients.write,
      chooseUrl: () => {
        // A step of the golden ratio: no visitor sticks to a host, and all hosts get the same share.
        turn = (turn + 0.618_033_988_75) % 1;
        return urls[Math.floor(turn * urls.length)] ?? '';
      },
      persistent: options.persistent,
      enough: () => this.#enough,
      paceMs: options.paceMs,
      habits: () => this.habits,
    });
    // `stop` reports the failure; unhandled, it would end the process before that.
    this.#finished.catch(() => {});
  }

  /** Sends nothing more; resolves when the fate of everything sent is known. */
  async stop(): Promise<Ledger> {
    this.#enough = true;
    await this.#finished;
    return this.ledger;
  }
}
