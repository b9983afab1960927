import { z } from 'zod';
import { backoffMs } from '../../infra/concurrency/backoff.ts';
import type { ReferenceEvent } from '../../processor/testing/reference.ts';
import { type Answer, Client, type Credential, rejectOf } from '../cluster/client.ts';
import type { DeviceScript, ScriptedEvent } from './device-script.ts';

/** One event's fate as its sender knows it. Times of this process's clock. */
export interface Entry {
  readonly event: ScriptedEvent;
  readonly sentAtMs: number;
  /** Undefined: it was never acknowledged, so it may be stored or not. */
  readonly acknowledgedAtMs: number | undefined;
  readonly answered: { readonly deviceId: string; readonly sessionId: string } | undefined;
}

export interface DriveOptions {
  readonly scripts: readonly DeviceScript[];
  readonly projectId: string;
  readonly credential: Credential;
  /** The host of the next request; asked for every try. */
  readonly chooseUrl: () => string;
  /** Sends an event again, under its id, until it is acknowledged; otherwise the first failure stands. */
  readonly persistent: boolean;
  /** Asked before each event. */
  readonly enough: () => boolean;
  /** Least time between two events of a device. */
  readonly paceMs: number;
}

export const ORIGIN = 'https://site.example';
const answerSchema = z.object({ deviceId: z.string(), sessionId: z.string() });
const BACKOFF = { firstMs: 20, maxMs: 500 };
const RETRY_MAX_MS = 90_000;

/**
 * Sends the scripts' events and records the fate of each. A device sends its next event only when the fate of the one
 * before is known, so its events are accepted in the order in which it sends them.
 */
export class Ledger {
  readonly #byDevice = new Map<string, Entry[]>();
  /** Answers other than 200 and 503, and failures of connections, by text. */
  readonly rejects = new Map<string, number>();
  #resent = 0;

  get entries(): readonly Entry[] {
    return [...this.#byDevice.values()].flat();
  }

  get acknowledged(): readonly Entry[] {
    return this.entries.filter(({ acknowledgedAtMs }) => acknowledgedAtMs !== undefined);
  }

  /** How often an event was sent again so far. */
  get resent(): number {
    return this.#resent;
  }

  /** This ledger and others as one; each has devices of its own. */
  with(others: readonly Ledger[]): Ledger {
    const merged = new Ledger();
    for (const ledger of [this, ...others]) {
      for (const [device, entries] of ledger.#byDevice) merged.#byDevice.set(device, entries);
      merged.#resent += ledger.#resent;
    }
    return merged;
  }

  /** Runs all scripts side by side until `enough`. */
  async drive(options: DriveOptions): Promise<void> {
    const client = new Client(options.scripts.length);
    try {
      await Promise.all(options.scripts.map((script) => this.#driveDevice(client, script, options)));
    } finally {
      client.close();
    }
  }

  /**
   * The arrivals that the oracle gets: what was acknowledged, and what is known to be stored nevertheless, each with
   * the session that was answered. Where the answer does not bind (`isLoose`), a first try whose answer was lost may
   * have been given another session; then the store (`storedSessions`, by event id) says which.
   */
  arrivals(
    projectId: string,
    storedSessions: ReadonlyMap<string, string>,
    isLoose: (entry: Entry) => boolean,
  ): ReferenceEvent[] {
    return this.entries
      .filter((entry) => entry.acknowledgedAtMs !== undefined || storedSessions.has(entry.event.eventId))
      .map((entry) => ({ ...entry, stored: storedSessions.get(entry.event.eventId), loose: isLoose(entry) }))
      .map(({ event, sentAtMs, answered, stored, loose }) => ({
        projectId,
        ...event,
        receivedAtMs: sentAtMs,
        sessionId: loose ? (stored ?? answered?.sessionId) : answered?.sessionId,
        revenue: undefined,
        currency: '',
        origin: ORIGIN,
        source: undefined,
        environment: undefined,
      }));
  }

  async #driveDevice(client: Client, script: DeviceScript, options: DriveOptions): Promise<void> {
    const entries = this.#byDevice.get(script.deviceId) ?? [];
    this.#byDevice.set(script.deviceId, entries);
    while (!options.enough()) {
      const event = script.next();
      const index = entries.length;
      // The event is in the ledger before it leaves, so an observer never sees more in the service than here.
      entries.push(unanswered(event, Date.now()));
      const entry = await this.#send(client, event, options);
      entries[index] = entry;
      await new Promise((resolve) => setTimeout(resolve, options.paceMs));
    }
  }

  async #send(client: Client, event: ScriptedEvent, options: DriveOptions): Promise<Entry> {
    const sentAtMs = Date.now();
    for (let tries = 1; ; tries += 1) {
      const answer = await client
        .post(`${options.chooseUrl()}/track`, options.credential, {}, bodyOf(event))
        .catch((error: unknown) =>
          this.#note(`connection: ${error instanceof Error ? error.message : error}`),
        );
      if (answer !== undefined && answer.status === 200) return acknowledgedEntry(event, sentAtMs, answer);
      if (answer !== undefined && answer.status !== 503) this.#note(rejectOf(answer));
      if (!options.persistent) return unanswered(event, sentAtMs);
      if (Date.now() - sentAtMs > RETRY_MAX_MS)
        throw new Error(`${event.eventId} was not taken for ${RETRY_MAX_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, backoffMs(BACKOFF, tries - 1, 0.5)));
      this.#resent += 1;
    }
  }

  #note(what: string): undefined {
    this.rejects.set(what, (this.rejects.get(what) ?? 0) + 1);
  }
}

function unanswered(event: ScriptedEvent, sentAtMs: number): Entry {
  return { event, sentAtMs, acknowledgedAtMs: undefined, answered: undefined };
}

function acknowledgedEntry(event: ScriptedEvent, sentAtMs: number, answer: Answer): Entry {
  return { event, sentAtMs, acknowledgedAtMs: Date.now(), answered: answerSchema.parse(answer.body) };
}

function bodyOf({ eventId, deviceId, profileId, name, occurredAtMs, path }: ScriptedEvent): string {
  const properties = { __deviceId: deviceId, __timestamp: occurredAtMs, __path: ORIGIN + path };
  const profile = profileId === '' ? {} : { profileId };
  return JSON.stringify({ type: 'track', payload: { name, eventId, ...profile, properties } });
}
