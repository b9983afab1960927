import type { Bus } from '../../infra/bus/bus.ts';
import type { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { entityStreamOf } from '../../ingest/entity-update.ts';
import { streamOf } from '../../ingest/event.ts';

const LOOK_EVERY_MS = 5_000;

/** The backlog in `/healthz/ready`: what waits in the bus until it is in the store. */
export interface ReportedBacklog {
  /** One message has one or many events, or an update of a profile, a group or an order. */
  readonly messages: number;
  /** Used share of the fullest stream; at 1, the service takes no more events. */
  readonly usedShare: number;
}

/** Regularly asks the bus for the backlog. */
export class BacklogWatch {
  readonly #bus: Pick<Bus, 'streamRoom'>;
  readonly #lanes: ServiceLanes;
  #timer: NodeJS.Timeout | undefined;
  #reported: ReportedBacklog | undefined;

  constructor(bus: Pick<Bus, 'streamRoom'>, lanes: ServiceLanes) {
    this.#bus = bus;
    this.#lanes = lanes;
  }

  /** Undefined while the bus does not answer. */
  get reported(): ReportedBacklog | undefined {
    return this.#reported;
  }

  start(): void {
    const look = () => void this.#look();
    this.#timer = setInterval(look, LOOK_EVERY_MS).unref();
    look();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const lanes = Array.from({ length: this.#lanes.count }, (_, lane) => lane);
    const streams = lanes.flatMap((lane) => [streamOf(lane), entityStreamOf(lane)]);
    try {
      const rooms = await Promise.all(streams.map((stream) => this.#bus.streamRoom(stream)));
      this.#reported = {
        messages: rooms.reduce((sum, { messages }) => sum + messages, 0),
        usedShare: Math.max(...rooms.map(({ bytes, bytesMax }) => bytes / bytesMax)),
      };
    } catch {
      // The bus is unavailable, or no processor has made the streams yet.
      this.#reported = undefined;
    }
  }
}
