import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import type { LaneName, ServiceLanes } from '../../infra/process/service-lanes.ts';
import type { DeviceId } from '../event.ts';
import { laneOf } from '../event.ts';
import {
  DeviceHash,
  decodeOpenSessionsChanges,
  decodeOpenSessionsPiece,
  encodeOpenSessionsQuestion,
  IN_FLIGHT_MAX_MS,
  OPEN_DEVICES_MAX,
  openSessionChangesSubjectOf,
  openSessionsSubjectOf,
  STANDING_NONE,
} from '../open-sessions.ts';
import { OpenSessionsReplica, type UnknownReason } from './open-sessions-replica.ts';

const PIECE_TIMEOUT_MS = 5_000;
/** Between two loads of a list, when one failed. */
const LOAD_EVERY_MS = 1_000;
/** Begins again this often within one load, when the owner's list has changed on the way. */
const RESTARTS_MAX = 3;

/** The list of one owner. */
interface OwnersList {
  readonly lane: LaneName;
  readonly replica: OpenSessionsReplica;
  loading: boolean;
  nextLoadMs: number;
}

/**
 * The owners' lists of open sessions (`../open-sessions.ts`): one for each lane, loaded once and then updated by the
 * owner's changes. If a list is missing, old or has a gap, `find` returns that, and the owner is asked as for any
 * unknown device. An owner sends while something happens, so a collector needs no timer: the first changes after a gap
 * make it load again.
 */
export class OpenSessions {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #mayOpen: boolean;
  readonly #lanes: ServiceLanes;
  #lists: readonly OwnersList[] = [];
  readonly #stops: (() => void)[] = [];
  readonly #unlisten: () => void;
  readonly #hash = new DeviceHash();
  readonly #loads: Counter;
  readonly #changes: Counter;
  readonly #unreadable: Counter;
  #stopped = false;

  constructor(options: {
    readonly bus: Bus;
    readonly clock: Clock;
    readonly metrics: Metrics;
    readonly lanes: ServiceLanes;
    /** The longest that an event of this collector is on its way to the bus. */
    readonly inFlightMs: number;
  }) {
    const { bus, clock, metrics, lanes } = options;
    this.#bus = bus;
    this.#clock = clock;
    this.#mayOpen = options.inFlightMs <= IN_FLIGHT_MAX_MS;
    this.#lanes = lanes;
    this.#loads = metrics.counter('ingest_open_sessions_loads_total', 'lists of open sessions loaded');
    this.#changes = metrics.counter(
      'ingest_open_sessions_changes_total',
      'messages with changes of open sessions received',
    );
    this.#unreadable = metrics.counter(
      'ingest_open_sessions_unreadable_total',
      'messages about open sessions that could not be read',
    );
    this.#expose(metrics);
    this.#follow();
    this.#unlisten = lanes.onChange(() => {
      if (lanes.count !== this.#lists.length) this.#follow();
    });
  }

  /** Follows the owners of the lanes that the service has now, and no others. */
  #follow(): void {
    for (const stop of this.#stops.splice(0)) stop();
    const { count } = this.#lanes;
    const devicesMax = Math.ceil(OPEN_DEVICES_MAX / count);
    this.#lists = Array.from({ length: count }, (_, lane) => ({
      lane: this.#lanes.nameOf(lane),
      replica: new OpenSessionsReplica(devicesMax),
      loading: false,
      nextLoadMs: 0,
    }));
    for (const list of this.#lists) {
      const subject = openSessionChangesSubjectOf(list.lane);
      this.#stops.push(this.#bus.listen(subject, (bytes) => this.#take(list, bytes)));
      this.#load(list);
    }
  }

  /**
   * The standing of a device (`STANDING_NONE`, or an open session's) for an event of `nowMs`, or why it is not known. This
   * never waits.
   */
  find(siteId: StoredId, deviceId: DeviceId, nowMs: number): number | UnknownReason | 'slow-publishing' {
    const list = this.#lists[laneOf(siteId, deviceId, this.#lanes.layout)];
    if (list === undefined) return 'not-loaded';
    const { high, low } = this.#hash.of(siteId, deviceId);
    const standing = list.replica.find(high, low, nowMs);
    return standing === STANDING_NONE && !this.#mayOpen ? 'slow-publishing' : standing;
  }

  /** Stops listening. */
  stop(): void {
    this.#stopped = true;
    this.#unlisten();
    for (const stop of this.#stops) stop();
  }

  #take(list: OwnersList, bytes: Uint8Array): void {
    try {
      this.#changes.add();
      if (!list.replica.take(decodeOpenSessionsChanges(bytes))) this.#load(list);
    } catch {
      // The owner of another version, or a stranger: the next changes show the gap.
      this.#unreadable.add();
    }
  }

  #load(list: OwnersList): void {
    const nowMs = this.#clock.nowMs();
    // A clock that was set back must not put the load off for long.
    if (list.loading || this.#stopped || Math.abs(list.nextLoadMs - nowMs) < LOAD_EVERY_MS) return;
    list.loading = true;
    list.nextLoadMs = nowMs;
    void this.#loadPieces(list).finally(() => {
      list.loading = false;
    });
  }

  /** Loads the list, if the owner answers; otherwise its next changes try again. */
  async #loadPieces({ lane, replica }: OwnersList): Promise<void> {
    const subject = openSessionsSubjectOf(lane);
    for (let restarts = 0; restarts <= RESTARTS_MAX && !this.#stopped; ) {
      let piece: ReturnType<typeof decodeOpenSessionsPiece>;
      try {
        const question = encodeOpenSessionsQuestion(replica.question());
        piece = decodeOpenSessionsPiece(await this.#bus.ask(subject, question, PIECE_TIMEOUT_MS));
      } catch {
        return;
      }
      if (piece === undefined) return;
      if (!replica.takePiece(piece)) restarts += 1;
      else if (piece.piece + 1 === piece.pieces) {
        this.#loads.add();
        return;
      }
    }
  }

  #expose(metrics: Metrics): void {
    const known = () => this.#lists.reduce((sum, { replica }) => sum + replica.size, 0);
    metrics.gaugeOf(
      'ingest_open_sessions',
      'devices of which an owner has said that they have an open session',
      {},
      known,
    );
    metrics.gaugeOf(
      'ingest_open_sessions_loaded',
      'lanes whose list of open sessions is loaded',
      {},
      () => this.#lists.filter(({ replica }) => replica.markMs !== undefined).length,
    );
    const ageMs = () => {
      const marks = this.#lists.flatMap(({ replica }) => replica.markMs ?? []);
      return marks.length === 0 ? 0 : this.#clock.nowMs() - Math.min(...marks);
    };
    metrics.gaugeOf(
      'ingest_open_sessions_age_seconds',
      'age of the oldest mark up to which a loaded list of open sessions is complete',
      {},
      () => ageMs() / 1000,
    );
  }
}
