import type { Bus } from '../../../infra/bus/bus.ts';
import { RowBinaryWriter } from '../../../infra/store/row-binary.ts';
import { type EntityUpdate, encodeEntityUpdate, entitySubjectOf } from '../../../ingest/entity-update.ts';
import { beginMessage, EVENT_MAX_BYTES, endMessage } from '../../../ingest/event.ts';

/** One collector: numbers its messages, and may send each of them twice. */
export class UpdateSender {
  readonly #bus: Bus;
  readonly #lane: number;
  readonly #publisherId: bigint;
  #sequence = 0;

  constructor(bus: Bus, lane: number, publisherId: bigint) {
    this.#bus = bus;
    this.#lane = lane;
    this.#publisherId = publisherId;
  }

  async send(updates: readonly EntityUpdate[], times = 1): Promise<void> {
    const writer = new RowBinaryWriter(4 * EVENT_MAX_BYTES);
    this.#sequence += 1;
    beginMessage(writer, {
      publisherId: this.#publisherId,
      publisherSequence: this.#sequence,
      sentAtMs: Date.now(),
    });
    for (const update of updates) encodeEntityUpdate(writer, update);
    endMessage(writer, updates.length);
    for (let time = 0; time < times; time += 1)
      await this.#bus.publish(entitySubjectOf(this.#lane), writer.bytes(), 5_000);
  }
}
