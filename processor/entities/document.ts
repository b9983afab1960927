import { AssertionError, assert, unreachable } from '../../infra/assert.ts';
import type { EntityUpdate } from '../../ingest/entity-update.ts';
import { applyGroup, type GroupDocument } from './group.ts';
import type { Applied } from './head.ts';
import { applyOrder, type OrderDocument, type ReadOrderUpdate, type RecordedRevenue } from './order.ts';
import { applyProfile, type ProfileDocument } from './profile.ts';
import { applyTally, type TallyDocument } from './tally.ts';

/**
 * An entity: the result of all updates that name it in one stream, in the order of the stream. A document never
 * changes: an update returns another one, or the same one.
 */
export type EntityDocument = ProfileDocument | GroupDocument | OrderDocument | TallyDocument;

/**
 * Possible outcomes of an update:
 *
 * - `applied`: it was applied, also if it changed nothing.
 * - `repeat`: it was applied before.
 * - `not-a-number`: a step on a value that is not a decimal number, or with a result that would be too long.
 * - `over-cap`: a profile or group is full; the part with room was applied.
 * - `waiting`: a refund waits for its order.
 * - `too-many-waiting`: too many refunds wait.
 * - `exceeded`: a refund of an order with nothing left.
 * - `foreign-currency`: a refund in another currency than its order's.
 * - `foreign-device`: a sender without a secret wanted to change a profile or group of other devices.
 */
export const OUTCOMES = [
  'applied',
  'repeat',
  'not-a-number',
  'over-cap',
  'waiting',
  'exceeded',
  'foreign-currency',
  'too-many-waiting',
  'foreign-device',
] as const;

export type Outcome = (typeof OUTCOMES)[number];

/**
 * Result of an update. If `changed` is false, `document` is the given one, and undefined if none was given: a step that leads to no number
 * makes no profile.
 */
export type AppliedUpdate = Applied<EntityDocument, Outcome> & {
  readonly recorded: readonly RecordedRevenue[];
  /** Outcomes of the refunds that waited for the order in this update. */
  readonly waitedOutcomes: readonly Outcome[];
};

/** An update as a lane reads it: an order's update includes the answer that its sender got. */
export type ReadUpdate = Exclude<EntityUpdate, { readonly kind: 'order' }> | ReadOrderUpdate;

const NOTHING = { recorded: [], waitedOutcomes: [] } as const;

/**
 * Applies an update to its entity. Same document and update, same result. `version` is the message's; a document names the last message
 * that changed it, so applying a message again skips the documents that contain it.
 */
export function applyUpdate(
  document: EntityDocument | undefined,
  update: ReadUpdate,
  version: bigint,
): AppliedUpdate {
  assert(document === undefined || isOf(document, update), 'an update came to the record of another one');
  assert(document === undefined || document.version <= version, 'updates of a record run backwards');
  switch (update.kind) {
    case 'identify':
    case 'step':
    case 'assign':
    case 'device':
      if (document === undefined || document.kind === 'profile')
        return { ...applyProfile(document, update, version), ...NOTHING };
      break;
    case 'group':
    case 'mention':
      if (document === undefined || document.kind === 'group')
        return { ...applyGroup(document, update, version), ...NOTHING };
      break;
    case 'order':
      if (document === undefined || document.kind === 'order') return applyOrder(document, update, version);
      break;
    case 'tally':
      if (document === undefined || document.kind === 'tally')
        return { ...applyTally(document, update, version), ...NOTHING };
      break;
    default:
      return unreachable(update);
  }
  throw new AssertionError(`an update of kind ${update.kind} was applied to a ${document.kind}`);
}

function isOf(document: EntityDocument, update: ReadUpdate): boolean {
  return document.projectId === update.projectId && document.id === update.id;
}
