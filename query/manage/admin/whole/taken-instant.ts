import { randomBytes } from 'node:crypto';
import { must } from '../../../../infra/assert.ts';
import type { LaneLayout } from '../../../../infra/process/service-lanes.ts';
import { type AppliedMigration, type BackedLane, FIRST_LANE } from '../../../../processor/backups.ts';
import type { NoteWriter } from '../table.ts';
import type { AnswerOf, LaneOwners, Met } from './lane-owners.ts';

/** An instant that the store keeps, and where each lane was. */
export interface TakenInstant {
  readonly backupId: string;
  readonly takenAt: string;
  readonly lanes: readonly BackedLane[];
  readonly migrations: AppliedMigration[];
}

/** The requests to lanes, in this order. */
type LaneStep = 'release' | 'open' | 'rest' | 'hold' | 'keep';

/** The lanes did not pause together, for this reason. */
class MissedError extends Error {
  override readonly name = 'MissedError';
}

/**
 * Takes an instant of all lanes; repeats it if a lane restarts, changes its owner, or the service grows in the middle of it. Each
 * attempt has its own id, so leftovers of an earlier attempt do not affect its tables.
 */
export async function takeInstant(owners: LaneOwners, writeNote: NoteWriter): Promise<TakenInstant> {
  let why = 'the processor does not answer';
  const attempt = async () => {
    const layout = await owners.layout();
    const backupId = randomBytes(8).toString('hex');
    if (layout.lanes === 1) return takeOfOne(owners, layout, backupId);
    try {
      return await takeOfAll(owners, layout, backupId);
    } catch (error) {
      if (!(error instanceof MissedError)) throw error;
      if (error.message !== why) writeNote(`${error.message}: taking another instant`);
      why = error.message;
      return undefined;
    }
  };
  return owners.untilDone(attempt, () => why);
}

async function takeOfOne(
  owners: LaneOwners,
  layout: LaneLayout,
  backupId: string,
): Promise<TakenInstant | undefined> {
  const taken = await owners.once({ kind: 'take', backupId }, 'taken', { lane: FIRST_LANE, layout });
  if (taken === undefined) return undefined;
  const { takenAt, lane, migrations } = taken;
  return { backupId, takenAt, lanes: [lane], migrations };
}

/**
 * The order of `processor/backups/README.md`, with all lanes: an order of one lane may have its revenue in another, so the entities of all rest
 * before the events of any are flushed for the last time.
 */
async function takeOfAll(owners: LaneOwners, layout: LaneLayout, backupId: string): Promise<TakenInstant> {
  const all = Array.from({ length: layout.lanes }, (_, lane) => lane);
  const first = [FIRST_LANE];
  /** Asks lanes together, and misses unless all of them give the answer `met`. */
  const step = async <Kind extends Met>(
    kind: LaneStep,
    met: Kind,
    lanes = all,
  ): Promise<AnswerOf<Kind>[]> => {
    const ask = (lane: number) => owners.once({ kind, backupId }, met, { lane, layout });
    const answers = await Promise.all(lanes.map(ask));
    return answers.map((answer, index) => {
      if (answer !== undefined) return answer;
      throw new MissedError(`lane ${lanes[index]} did not answer when it was asked to ${kind}`);
    });
  };
  try {
    // Checks that each lane has an owner that answers; otherwise the others would pause for nothing.
    await step('release', 'released');
    const [opened] = await step('open', 'opened', first);
    await step('rest', 'done');
    const held = await step('hold', 'held');
    await step('keep', 'done', first);
    const lost = (await step('release', 'released')).findIndex(({ hasLasted }) => !hasLasted);
    if (lost !== -1) throw new MissedError(`lane ${lost} did not stand still until the tables were kept`);
    const { takenAt, migrations } = must(opened, 'the first lane has answered');
    return { backupId, takenAt, lanes: held.map(({ lane }) => lane), migrations };
  } catch (error) {
    await Promise.allSettled(
      all.map((lane) => owners.once({ kind: 'release', backupId }, 'released', { lane, layout })),
    );
    throw error;
  }
}
