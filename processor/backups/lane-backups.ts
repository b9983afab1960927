import type { Bus } from '../../infra/bus/bus.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Logger } from '../../infra/log.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import type { Store } from '../../infra/store/store.ts';
import {
  type BackedLane,
  type BackupRequest,
  decodeBackupRequest,
  encodeBackupAnswer,
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

/** Rows of an attempt that are to be adopted, from which backup, and where the lane was then. */
export type Adoption = Extract<BackupRequest, { readonly kind: 'adopt' }>;

/** What is asked of a lane that is owned and runs. */
export interface BackedUpLane {
  /** The highest version that a stored document may have: that of none of the stream's messages. */
  readonly versionMax: () => Promise<bigint>;
  /** The flush that the lane has completed, before which its rows are. */
  readonly flushNumber: () => number;
  /** The backup whose rows were adopted, as long as its control records may be missing. */
  readonly restored: () => string | undefined;
  /** Runs `work` while the store has exactly what the lane says, everything that the bus had included. */
  readonly atRest: <Result>(work: (lane: BackedLane) => Promise<Result>) => Promise<Result>;
  /** Stops the lane, adopts the rows and goes on from there. */
  readonly adopt: (adoption: Adoption) => Promise<NewBackupAnswer>;
  readonly settle: () => Promise<void>;
}

export interface LaneBackupsOptions {
  readonly bus: Bus;
  readonly store: Store;
  readonly log: Logger;
  readonly clock: Clock;
  readonly crashPoint: (point: CrashPoint) => void;
}

/** Answers what `npm run admin` asks of the owner of the lane for a backup or a restore. */
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
    const { store } = this.#options;
    switch (request.kind) {
      case 'take':
        return this.#take(request.backupId, lane);
      case 'drop':
        await dropInstant(store, request.backupId);
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
    const { store, clock, log } = this.#options;
    await openInstant(store, backupId);
    const migrations = [...(await appliedMigrations(store))];
    // What was acknowledged by now is on the bus.
    const takenAt = new Date(clock.nowMs()).toISOString();
    const reached = await lane.atRest(async (at) => {
      await keepInstant(store, backupId);
      return at;
    });
    log.info({ backupId, flushNumber: reached.flushNumber }, 'kept the tables for a backup');
    return { kind: 'taken', migrations, takenAt, lane: reached };
  }

  async #prepare(attempt: string, lane: BackedUpLane): Promise<NewBackupAnswer> {
    const { store } = this.#options;
    const restored = lane.restored() ?? null;
    if (restored === null) {
      const refused = await notEmpty(store, lane.flushNumber());
      if (refused !== undefined) return refused;
      await openRestored(store, attempt);
    }
    const versionMax = String(await lane.versionMax());
    return { kind: 'prepared', restored, versionMax, migrations: [...(await appliedMigrations(store))] };
  }
}

/** Why no backup can be put into this store; undefined if one can. */
export async function notEmpty(store: Store, flushNumber: number): Promise<NewBackupAnswer | undefined> {
  const used = await usedTable(store);
  if (used === undefined && flushNumber === 0) return undefined;
  const what = used === undefined ? 'it has counted events' : `its table ${used} has rows`;
  return { kind: 'refused', text: `this service is not empty: ${what}` };
}

/** Finishes a restore that was begun; can be repeated after a crash anywhere. `complete` records that the rows are in place. */
export async function finishRestore(
  { store, log, crashPoint }: Pick<LaneBackupsOptions, 'store' | 'log' | 'crashPoint'>,
  { attempt, backupId }: Pick<Adoption, 'attempt' | 'backupId'>,
  complete: () => Promise<void>,
): Promise<void> {
  crashPoint('restore:after-begin');
  await switchTables(store, attempt, () => crashPoint('restore:after-table'));
  crashPoint('restore:after-tables');
  await complete();
  crashPoint('restore:after-checkpoint');
  await dropRestored(store);
  log.info({ backupId }, 'the rows of a backup were adopted');
}
