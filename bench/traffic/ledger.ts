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
  /**
   * Copies of it, or of an earlier event of its device, were on their way to two hosts concurrently. Each host extends the
   * session that it knows with the event, and only one copy counts. So where sessions of a device overlap, a later answer may
   * extend further than the gap; it is binding nevertheless.
   */
  readonly raced: boolean;
}

export interface DriveOptions {
  /** Each is followed by others once its week is over. */
  readonly scripts: readonly DeviceScript[];
  readonly projectId: string;
  readonly credential: Credential;
  /** The host of the next request; asked for every try. */
  readonly chooseUrl: () => string;
  /** Resends an event under its id until it is acknowledged; otherwise the first failure is final. */
  readonly persistent: boolean;
  /** Asked before each event. */
  readonly enough: () => boolean;
  /** Least time between two events of a device. */
  readonly paceMs: number;
  /** Asked before each event: how its sender behaves. By default it does nothing odd. */
  readonly habits?: () => Habits;
}

/** Unusual sender behaviour that costs the service only work. */
export interface Habits {
  /** Sends every event as three concurrent copies, together with repeats of the earlier ones, the newest first. */
  readonly repeats: boolean;
  /** Every other event happened hours before those around it. */
  readonly late: boolean;
}

export const PLAIN_HABITS: Habits = { repeats: false, late: false };
const COPIES = 3;
const EARLIER = 4;

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
  #taken = 0;
  #copies = 0;
  #late = 0;

  get entries(): readonly Entry[] {
    return [...this.#byDevice.values()].flat();
  }

  get acknowledged(): readonly Entry[] {
    return this.entries.filter(({ acknowledgedAtMs }) => acknowledgedAtMs !== undefined);
  }

  /** Number of events acknowledged so far, without looking at each. */
  get taken(): number {
    return this.#taken;
  }

  /** Number of copies of events that were answered with 200, besides the first ones. */
  get copies(): number {
    return this.#copies;
  }

  /** Number of events sent hours late. */
  get late(): number {
    return this.#late;
  }

  /** Number of repeated sends so far. */
  get resent(): number {
    return this.#resent;
  }

  /** This ledger and others as one; each has devices of its own. */
  with(others: readonly Ledger[]): Ledger {
    const merged = new Ledger();
    for (const ledger of [this, ...others]) {
      for (const [device, entries] of ledger.#byDevice) merged.#byDevice.set(device, entries);
      merged.#resent += ledger.#resent;
      merged.#taken += ledger.#taken;
      merged.#copies += ledger.#copies;
      merged.#late += ledger.#late;
    }
    return merged;
  }

  /** Runs all scripts side by side until `enough`. */
  async drive(options: DriveOptions): Promise<void> {
    const client = new Client(options.scripts.length * (COPIES + EARLIER));
    try {
      await Promise.all(options.scripts.map((script) => this.#driveDevices(client, script, options)));
    } finally {
      client.close();
    }
  }

  /**
   * The arrivals that the oracle gets: acknowledged events, and others known to be stored, each with the answered session. Where
   * the answer does not bind (`isLoose`), a first try whose answer was lost may have been given another session; then the store
   * (`storedSessions`, by event id) decides. It also decides where copies raced.
   */
  arrivals(
    projectId: string,
    storedSessions: ReadonlyMap<string, string>,
    isLoose: (entry: Entry) => boolean,
  ): ReferenceEvent[] {
    return this.entries
      .filter((entry) => entry.acknowledgedAtMs !== undefined || storedSessions.has(entry.event.eventId))
      .map((entry) => ({ ...entry, stored: storedSessions.get(entry.event.eventId), loose: isLoose(entry) }))
      .map(({ event, sentAtMs, answered, stored, loose, raced }) => ({
        projectId,
        ...event,
        receivedAtMs: sentAtMs,
        sessionId: loose || raced ? (stored ?? answered?.sessionId) : answered?.sessionId,
        ...(raced ? { certain: true } : {}),
        revenue: undefined,
        currency: '',
        origin: ORIGIN,
        source: undefined,
        environment: undefined,
      }));
  }

  /** Drives one device after the other. */
  async #driveDevices(client: Client, first: DeviceScript, options: DriveOptions): Promise<void> {
    for (let script = first; !options.enough(); script = script.successor())
      await this.#driveDevice(client, script, options);
  }

  async #driveDevice(client: Client, script: DeviceScript, options: DriveOptions): Promise<void> {
    const entries = this.#byDevice.get(script.deviceId) ?? [];
    this.#byDevice.set(script.deviceId, entries);
    let raced = false;
    while (!options.enough() && !script.isOver) {
      const { repeats, late } = options.habits?.() ?? PLAIN_HABITS;
      const index = entries.length;
      const isLate = late && index % 2 === 1;
      const event = isLate ? script.late() : script.next();
      if (isLate) this.#late += 1;
      // The event is in the ledger before it leaves, so an observer never sees more in the service than here.
      raced ||= repeats;
      entries.push({ ...unanswered(event, Date.now()), raced });
      const copies = repeats ? this.#sendCopies(client, entries, options) : undefined;
      const entry = await this.#send(client, event, options);
      // A copy on its way could overtake the device's next event.
      await copies;
      entries[index] = { ...entry, raced };
      if (entry.acknowledgedAtMs !== undefined) this.#taken += 1;
      await new Promise((resolve) => setTimeout(resolve, options.paceMs));
    }
  }

  /** Sends the newest event and the events before it, whatever becomes of these copies. */
  async #sendCopies(client: Client, entries: readonly Entry[], options: DriveOptions): Promise<void> {
    const [newest, ...earlier] = entries.slice(-1 - EARLIER).reverse();
    const sent = [...Array.from({ length: COPIES - 1 }, () => newest), ...earlier].map(async (entry) => {
      if (entry === undefined) return;
      const answer = await this.#try(client, entry.event, options);
      if (answer?.status === 200) this.#copies += 1;
    });
    await Promise.all(sent);
  }

  /** Undefined when the connection fails. */
  #try(client: Client, event: ScriptedEvent, options: DriveOptions): Promise<Answer | undefined> {
    return client
      .post(`${options.chooseUrl()}/track`, options.credential, {}, bodyOf(event))
      .catch((error: unknown) => this.#note(`connection: ${error instanceof Error ? error.message : error}`));
  }

  async #send(client: Client, event: ScriptedEvent, options: DriveOptions): Promise<Entry> {
    const sentAtMs = Date.now();
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#try(client, event, options);
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
  return { event, sentAtMs, acknowledgedAtMs: undefined, answered: undefined, raced: false };
}

function acknowledgedEntry(event: ScriptedEvent, sentAtMs: number, answer: Answer): Entry {
  const answered = answerSchema.parse(answer.body);
  return { event, sentAtMs, acknowledgedAtMs: Date.now(), answered, raced: false };
}

function bodyOf({ eventId, deviceId, profileId, name, occurredAtMs, path }: ScriptedEvent): string {
  const properties = { __deviceId: deviceId, __timestamp: occurredAtMs, __path: ORIGIN + path };
  const profile = profileId === '' ? {} : { profileId };
  return JSON.stringify({ type: 'track', payload: { name, eventId, ...profile, properties } });
}
