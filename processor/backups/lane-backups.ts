import type { Bus } from '../../infra/bus/bus.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Logger } from '../../infra/log.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import type { Store } from '../../infra/store/store.ts';
import type { PerShard } from '../../infra/store/store-shards.ts';
import {
  type AppliedMigration,
  type BackedLane,
  type BackupRequest,
  decodeBackupRequest,
  encodeBackupAnswer,
  FIRST_LANE,
  type NewBackupAnswer,
} from '../backups.ts';
import {
  appliedMigrations,
  dropInstant,
  dropRestored,
  keepInstant,
  openInstant,
  openRestored,
  switchTables,
  usedTable,
} from './instant.ts';
import type { LaneHold } from './lane-hold.ts';

/** Time that a lane may take to bring the bus's messages to the store. */
export const REST_MAX_MS = 30_000;
const SEVERAL_LANES: NewBackupAnswer = {
  kind: 'refused',
  text: 'this service has several lanes, which stop together; repeat the command',
};

/** Rows of an attempt that are to be adopted, from which backup, and where the lane was then. */
export type Adoption = Extract<BackupRequest, { readonly kind: 'adopt' }>;

/** The operations of an owned, running lane for backups and restores. */
export interface BackedUpLane {
  /** The highest version that a stored document may have: lower than the version of every message of the stream. */
  readonly versionMax: () => Promise<bigint>;
  /** The flush that the lane has completed, before which its rows are. */
  readonly flushNumber: () => number;
  /** The backup whose rows were adopted, as long as its control records may be missing. */
  readonly restored: () => string | undefined;
  /** Runs `work` while the store has exactly the state of the lane, including everything on the bus. */
  readonly atRest: <Result>(work: (lane: BackedLane) => Promise<Result>) => Promise<Result>;
  /** The same together with other lanes, step by step. */
  readonly hold: LaneHold;
  /** Stops the lane, adopts the rows and continues from there. */
  readonly adopt: (adoption: Adoption) => Promise<NewBackupAnswer>;
  readonly settle: () => Promise<void>;
}

export interface LaneBackupsOptions {
  readonly lane: number;
  /** True if the service has one lane. */
  readonly isAlone: boolean;
  readonly bus: Bus;
  /** All shards: the owner of the first lane keeps and fills the tables of each. */
  readonly stores: PerShard<Store>;
  readonly log: Logger;
  readonly clock: Clock;
  readonly crashPoint: (point: CrashPoint) => void;
}

/** Answers the requests of `npm run admin` to the owner of a lane, for a backup or a restore. */
export class LaneBackups {
  readonly #options: LaneBackupsOptions;

  constructor(options: LaneBackupsOptions) {
    this.#options = options;
  }

  /** @throws {DecodeError} */
  async answer(bytes: Uint8Array, lane: BackedUpLane): Promise<Uint8Array> {
    return encodeBackupAnswer(await this.#answer(decodeBackupRequest(bytes), lane));
  }

  async #answer(request: BackupRequest, lane: BackedUpLane): Promise<NewBackupAnswer> {
    const { stores } = this.#options;
    switch (request.kind) {
      case 'take':
        return this.#options.isAlone ? this.#take(request.backupId, lane) : SEVERAL_LANES;
      case 'open':
        return { kind: 'opened', ...(await this.#open(request.backupId)) };
      case 'rest':
        await lane.hold.rest(request.backupId);
        return { kind: 'done' };
      case 'hold':
        return this.#hold(request.backupId, lane);
      case 'keep':
        return this.#keep(request.backupId, lane);
      case 'release':
        return { kind: 'released', hasLasted: await lane.hold.release(request.backupId) };
      case 'drop':
        await stores.inEach((store) => dropInstant(store, request.backupId));
        return { kind: 'done' };
      case 'prepare':
        return this.#prepare(request.attempt, lane);
      case 'adopt':
        return lane.restored() === request.backupId ? { kind: 'done' } : lane.adopt(request);
      case 'settle':
        if (lane.restored() === request.backupId) await lane.settle();
        return { kind: 'done' };
    }
  }

  /**
   * Orders decide the order: the revenue of an order is on the bus before the order is in the store. So entities rest first, then
   * everything that the bus has is flushed, and both rest while the tables are kept.
   */
  async #take(backupId: string, lane: BackedUpLane): Promise<NewBackupAnswer> {
    const opened = await this.#open(backupId);
    const reached = await lane.atRest(async (at) => {
      await this.#keepTables(backupId);
      return at;
    });
    return { kind: 'taken', ...opened, lane: reached };
  }

  async #open(backupId: string): Promise<{ takenAt: string; migrations: AppliedMigration[] }> {
    const { stores, clock } = this.#options;
    await stores.inEach((store) => openInstant(store, backupId));
    const migrations = [...(await appliedMigrations(stores.first))];
    // Everything acknowledged by now is on the bus.
    return { takenAt: new Date(clock.nowMs()).toISOString(), migrations };
  }

  async #hold(backupId: string, lane: BackedUpLane): Promise<NewBackupAnswer> {
    const held = await lane.hold.hold(backupId);
    this.#options.crashPoint('backup:after-hold');
    return held === undefined ? { kind: 'unavailable' } : { kind: 'held', lane: held };
  }

  /** The command asks for this once all other lanes are held, too, and afterwards asks them whether that lasted. */
  async #keep(backupId: string, lane: BackedUpLane): Promise<NewBackupAnswer> {
    if (!lane.hold.isHeld(backupId)) return { kind: 'unavailable' };
    await this.#keepTables(backupId);
    this.#options.crashPoint('backup:after-keep');
    return { kind: 'done' };
  }

  async #keepTables(backupId: string): Promise<void> {
    await this.#options.stores.inEach((store) => keepInstant(store, backupId));
    this.#options.log.info({ backupId }, 'kept the tables for a backup');
  }

  async #prepare(attempt: string, lane: BackedUpLane): Promise<NewBackupAnswer> {
    const { stores } = this.#options;
    const restored = lane.restored() ?? null;
    if (restored === null) {
      const refused = await notEmpty(stores, lane.flushNumber());
      if (refused !== undefined) return refused;
      if (this.#options.lane === FIRST_LANE) await stores.inEach((store) => openRestored(store, attempt));
    }
    const versionMax = String(await lane.versionMax());
    const migrations = [...(await appliedMigrations(stores.first))];
    return { kind: 'prepared', restored, versionMax, migrations };
  }
}

/** Why no backup can be put into this store; undefined if one can. */
export async function notEmpty(
  stores: PerShard<Store>,
  flushNumber: number,
): Promise<NewBackupAnswer | undefined> {
  const used = (await stores.inEach(usedTable)).find((table) => table !== undefined);
  if (used === undefined && flushNumber === 0) return undefined;
  const what = used === undefined ? 'it has counted events' : `its table ${used} has rows`;
  return { kind: 'refused', text: `this service is not empty: ${what}` };
}

/** Finishes a restore that was begun; can be repeated after a crash anywhere. `complete` records that the rows are in place. */
export async function finishRestore(
  { stores, log, crashPoint }: Pick<LaneBackupsOptions, 'stores' | 'log' | 'crashPoint'>,
  { attempt, backupId }: Pick<Adoption, 'attempt' | 'backupId'>,
  complete: () => Promise<void>,
): Promise<void> {
  crashPoint('restore:after-begin');
  await stores.inEach((store) => switchTables(store, attempt, () => crashPoint('restore:after-table')));
  crashPoint('restore:after-tables');
  await complete();
  crashPoint('restore:after-checkpoint');
  await stores.inEach(dropRestored);
  log.info({ backupId }, 'the rows of a backup were adopted');
}
