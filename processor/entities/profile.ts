import { z } from 'zod';
import { unreachable } from '../../infra/assert.ts';
import type { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { bytesOfTexts, ENTITY_TEXT_MAX_BYTES, PROFILE_GROUPS_MAX } from '../../ingest/entity-size.ts';
import type {
  AssignUpdate,
  Authority,
  DeviceUpdate,
  IdentifyUpdate,
  StepUpdate,
} from '../../ingest/entity-update.ts';
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
import {
  mergeProperties,
  PROPERTIES_SELECT,
  type PropertyList,
  propertiesOf,
  stepProperty,
} from './properties.ts';

/** A person's data on a site. Texts are empty when unknown. */
interface ProfileContent {
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly avatar: string;
  readonly properties: PropertyList;
  /** In the order in which the profile first became a member of them. */
  readonly groups: readonly string[];
}

export interface ProfileDocument extends EntityHead, ProfileContent {
  readonly kind: 'profile';
  /** Devices from which a sender without a secret may change the profile; see `devices.ts`. */
  readonly devices: readonly string[];
}

export type ProfileUpdate = IdentifyUpdate | StepUpdate | AssignUpdate | DeviceUpdate;

export type ProfileOutcome = 'applied' | 'repeat' | 'not-a-number' | 'over-cap' | 'foreign-device';

const NOTHING_KNOWN: ProfileContent = {
  firstName: '',
  lastName: '',
  email: '',
  avatar: '',
  properties: [],
  groups: [],
};

/** Applies an update to a profile. Same document and update, same result. */
export function applyProfile(
  document: ProfileDocument | undefined,
  update: ProfileUpdate,
  version: bigint,
): Applied<ProfileDocument, ProfileOutcome> {
  if (isRepeat(document, update)) return { changed: false, document, outcome: 'repeat' };
  const { authority } = update;
  const isOwn = isOwnProfile(document, update);
  if (!mayChange(authority, isOwn)) return { changed: false, document, outcome: 'foreign-device' };
  const devices = devicesAfter(document?.devices ?? [], authority, isOwn);
  if (update.kind === 'device') return withDevices(document, devices, version);
  const known = document ?? NOTHING_KNOWN;
  const { content, outcome } = contentAfter(known, update);
  if (content === undefined) return { changed: false, document, outcome };
  // Sites identify people on every page: an update without news is not worth a row in the store.
  const isNew = document === undefined || document.devices !== devices || !isSame(known, content);
  if (!isNew && update.updateId === '') return { changed: false, document, outcome };
  const head = headAfter(document, update, { version, updateIdsMax: UPDATE_IDS_MAX });
  return { changed: true, document: { kind: 'profile', ...head, ...content, devices }, outcome };
}

/** True if an update makes the profile or comes from one of its devices. A profile with a device's id belongs to that device. */
export function isOwnProfile(
  document: Pick<ProfileDocument, 'devices'> | undefined,
  { id, authority }: { readonly id: string; readonly authority: Authority },
): boolean {
  return document === undefined || hasDevice([id], authority) || hasDevice(document.devices, authority);
}

/** A device without other data makes no profile, and does not change the person's data. */
function withDevices(
  document: ProfileDocument | undefined,
  devices: readonly string[],
  version: bigint,
): Applied<ProfileDocument, ProfileOutcome> {
  if (document === undefined || document.devices === devices)
    return { changed: false, document, outcome: 'applied' };
  return { changed: true, document: { ...document, devices, version }, outcome: 'applied' };
}

/** Without content when the update is not applied. */
interface Taken {
  readonly content: ProfileContent | undefined;
  readonly outcome: ProfileOutcome;
}

function contentAfter(known: ProfileContent, update: Exclude<ProfileUpdate, DeviceUpdate>): Taken {
  switch (update.kind) {
    case 'identify':
      return identified(known, update);
    case 'step':
      return stepped(known, update);
    case 'assign':
      return assigned(known, update);
    default:
      return unreachable(update);
  }
}

function identified(known: ProfileContent, update: IdentifyUpdate): Taken {
  const { properties, isOverCap } = mergeProperties(known.properties, update.properties);
  const content = {
    firstName: update.firstName ?? known.firstName,
    lastName: update.lastName ?? known.lastName,
    email: update.email ?? known.email,
    avatar: update.avatar ?? known.avatar,
    properties,
    groups: known.groups,
  };
  return { content, outcome: isOverCap ? 'over-cap' : 'applied' };
}

function stepped(known: ProfileContent, update: StepUpdate): Taken {
  const result = stepProperty(known.properties, update);
  if (result.kind !== 'stepped') return { content: undefined, outcome: result.kind };
  return { content: { ...contentOf(known), properties: result.properties }, outcome: 'applied' };
}

function assigned(known: ProfileContent, update: AssignUpdate): Taken {
  const groups = new Set(known.groups);
  let bytes = bytesOfTexts(known.groups);
  let outcome: ProfileOutcome = 'applied';
  for (const group of update.groups) {
    if (groups.has(group)) continue;
    const bytesAfter = bytes + Buffer.byteLength(group);
    if (groups.size >= PROFILE_GROUPS_MAX || bytesAfter > ENTITY_TEXT_MAX_BYTES) outcome = 'over-cap';
    else {
      groups.add(group);
      bytes = bytesAfter;
    }
  }
  const isOther = groups.size > known.groups.length;
  return { content: { ...contentOf(known), groups: isOther ? [...groups] : known.groups }, outcome };
}

function contentOf({
  firstName,
  lastName,
  email,
  avatar,
  properties,
  groups,
}: ProfileContent): ProfileContent {
  return { firstName, lastName, email, avatar, properties, groups };
}

/** True if nothing differs; lists with the same content are the same list. */
function isSame(a: ProfileContent, b: ProfileContent): boolean {
  return (
    a.firstName === b.firstName &&
    a.lastName === b.lastName &&
    a.email === b.email &&
    a.avatar === b.avatar &&
    a.properties === b.properties &&
    a.groups === b.groups
  );
}

/** Columns of the table `profiles`, in its order. */
export const PROFILE_COLUMNS = [
  ...FRONT_COLUMNS,
  'firstName',
  'lastName',
  'email',
  'avatar',
  'properties',
  'groups',
  'devices',
  ...END_COLUMNS,
] as const;

/** Columns to select to read profiles back with `profileOf`. */
export const PROFILE_SELECT = `${HEAD_SELECT}, firstName, lastName, email, avatar, ${PROPERTIES_SELECT}, groups, devices`;

/** Appends the row of a profile. */
export function writeProfileRow(writer: RowBinaryWriter, profile: ProfileDocument): void {
  writeFront(writer, profile);
  writer.string(profile.firstName);
  writer.string(profile.lastName);
  writer.string(profile.email);
  writer.string(profile.avatar);
  writer.stringMap(profile.properties);
  writer.stringArray(profile.groups);
  writer.stringArray(profile.devices);
  writeEnd(writer, profile);
}

const rowSchema = z.object({
  ...headFields,
  firstName: z.string(),
  lastName: z.string(),
  email: z.string(),
  avatar: z.string(),
  propertyKeys: z.array(z.string()),
  propertyValues: z.array(z.string()),
  groups: z.array(z.string()),
  devices: z.array(z.string()),
});

/** The profile of a row that was selected with `PROFILE_SELECT`. */
export function profileOf(row: unknown): ProfileDocument {
  const read = rowSchema.parse(row);
  return {
    kind: 'profile',
    ...headOf(read),
    firstName: read.firstName,
    lastName: read.lastName,
    email: read.email,
    avatar: read.avatar,
    properties: propertiesOf(read.propertyKeys, read.propertyValues),
    groups: read.groups,
    devices: read.devices,
  };
}
