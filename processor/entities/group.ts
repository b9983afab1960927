import { z } from 'zod';
import type { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { Authority, GroupUpdate, MentionUpdate } from '../../ingest/entity-update.ts';
import { devicesAfter, hasDevice, mayChange } from './devices.ts';
import {
  type Applied,
  END_COLUMNS,
  type EntityHead,
  FRONT_COLUMNS,
  HEAD_SELECT,
  headAfter,
  headFields,
  headOf,
  isRepeat,
  UPDATE_IDS_MAX,
  writeEnd,
  writeFront,
} from './head.ts';
import { mergeProperties, PROPERTIES_SELECT, type PropertyList, propertiesOf } from './properties.ts';

/** A group on a site: a company, a team. */
export interface GroupDocument extends EntityHead {
  readonly kind: 'group';
  readonly type: string;
  readonly name: string;
  readonly properties: PropertyList;
  /** Devices from which a sender without a secret may change the group; see `devices.ts`. */
  readonly devices: readonly string[];
}

export type GroupOutcome = 'applied' | 'repeat' | 'over-cap' | 'foreign-device';

/**
 * Applies an update to a group. Same document and update, same result. A group that is only mentioned has its id as its
 * name, and no type; its own description is the same with a mention before or after.
 */
export function applyGroup(
  document: GroupDocument | undefined,
  update: GroupUpdate | MentionUpdate,
  version: bigint,
): Applied<GroupDocument, GroupOutcome> {
  if (update.kind === 'mention') {
    if (document !== undefined) return { changed: false, document, outcome: 'applied' };
    const head = headAfter(document, update, { version, updateIdsMax: UPDATE_IDS_MAX });
    const said = { type: '', name: update.id, properties: [], devices: [] };
    const mentioned: GroupDocument = { kind: 'group', ...head, ...said };
    return { changed: true, document: mentioned, outcome: 'applied' };
  }
  if (isRepeat(document, update)) return { changed: false, document, outcome: 'repeat' };
  const { type, name, authority } = update;
  const isOwn = isOwnGroup(document, authority);
  if (!mayChange(authority, isOwn)) return { changed: false, document, outcome: 'foreign-device' };
  const devices = devicesAfter(document?.devices ?? [], authority, isOwn);
  const { properties, isOverCap } = mergeProperties(document?.properties ?? [], update.properties);
  const outcome = isOverCap ? 'over-cap' : 'applied';
  const isSame =
    document?.type === type &&
    document.name === name &&
    document.properties === properties &&
    document.devices === devices;
  if (isSame && update.updateId === '') return { changed: false, document, outcome };
  const head = headAfter(document, update, { version, updateIdsMax: UPDATE_IDS_MAX });
  return { changed: true, document: { kind: 'group', ...head, type, name, properties, devices }, outcome };
}

/** True if an update makes the group, is the first to describe it, or comes from one of its devices. */
export function isOwnGroup(
  document: Pick<GroupDocument, 'type' | 'devices'> | undefined,
  authority: Authority,
): boolean {
  return document === undefined || document.type === '' || hasDevice(document.devices, authority);
}

/** Columns of the table `groups`, in its order. */
export const GROUP_COLUMNS = [
  ...FRONT_COLUMNS,
  'type',
  'name',
  'properties',
  'devices',
  ...END_COLUMNS,
] as const;

/** Columns to select to read groups back with `groupOf`. */
export const GROUP_SELECT = `${HEAD_SELECT}, type, name, ${PROPERTIES_SELECT}, devices`;

/** Appends the row of a group. */
export function writeGroupRow(writer: RowBinaryWriter, group: GroupDocument): void {
  writeFront(writer, group);
  writer.string(group.type);
  writer.string(group.name);
  writer.stringMap(group.properties);
  writer.stringArray(group.devices);
  writeEnd(writer, group);
}

const rowSchema = z.object({
  ...headFields,
  type: z.string(),
  name: z.string(),
  propertyKeys: z.array(z.string()),
  propertyValues: z.array(z.string()),
  devices: z.array(z.string()),
});

/** The group of a row that was selected with `GROUP_SELECT`. */
export function groupOf(row: unknown): GroupDocument {
  const read = rowSchema.parse(row);
  const properties = propertiesOf(read.propertyKeys, read.propertyValues);
  const { type, name, devices } = read;
  return { kind: 'group', ...headOf(read), type, name, properties, devices };
}
