import type { GroupEntity, ProfileEntity } from './entity-lookup.ts';

/**
 * CONTRACT about the size of a profile or group. Its owner ignores any excess, and collectors report it where they can. Without a limit,
 * updates of 64 KiB would add up to documents of megabytes, on every page of people.
 */
export const ENTITY_PROPERTIES_MAX = 512;
/**
 * UTF-8 of all keys and values of its properties; the same limit applies to the ids of its groups. Documents of a backup of 0.1.0 may
 * hold more.
 */
export const ENTITY_TEXT_MAX_BYTES = 65_536;
/** Groups that a profile is a member of. */
export const PROFILE_GROUPS_MAX = 1_000;
/** The owner is asked about an update with at least this fraction (1/8) of the maximum; smaller ones are not worth a question. */
const ASKED_SHARE = 8;

/** The bytes of texts together. */
export function bytesOfTexts(texts: Iterable<string>): number {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return bytes;
}

/** The part of an entity that an update would add. Properties are flat: keys and values, alternating. */
export interface Addition {
  readonly properties?: readonly string[];
  readonly groupIds?: readonly string[];
}

/** True if an update is so large that its entity may have no room for it. */
export function isLargeAddition({ properties = [], groupIds = [] }: Addition): boolean {
  const bytes = bytesOfTexts(properties) + bytesOfTexts(groupIds);
  return bytes * ASKED_SHARE >= ENTITY_TEXT_MAX_BYTES;
}

/** Returns why an entity has no room for an update, naming the field; undefined if it has room. */
export function roomProblem(
  known: ProfileEntity | GroupEntity,
  { properties = [], groupIds = [] }: Addition,
): string | undefined {
  if (properties.length > 0 && !hasRoomFor(known.properties, properties))
    return `payload.properties: the ${known.kind} would have more than ${ENTITY_PROPERTIES_MAX} properties, or more than ${ENTITY_TEXT_MAX_BYTES} bytes of them`;
  const groups = new Set([...(known.kind === 'profile' ? known.groups : []), ...groupIds]);
  if (known.kind !== 'profile' || groups.size === known.groups.length) return undefined;
  if (groups.size <= PROFILE_GROUPS_MAX && bytesOfTexts(groups) <= ENTITY_TEXT_MAX_BYTES) return undefined;
  return `payload.groupIds: the profile would be a member of more than ${PROFILE_GROUPS_MAX} groups, or of groups with more than ${ENTITY_TEXT_MAX_BYTES} bytes of ids`;
}

function hasRoomFor(known: readonly string[], given: readonly string[]): boolean {
  const after = new Map<string, string>();
  for (let at = 0; at < known.length; at += 2) after.set(known[at] ?? '', known[at + 1] ?? '');
  const before = after.size;
  const bytesBefore = bytesOfTexts(known);
  for (let at = 0; at < given.length; at += 2) {
    const key = given[at] ?? '';
    // Keys above or below a new key make room for it.
    if (!after.has(key))
      for (const other of after.keys())
        if (other.startsWith(`${key}.`) || key.startsWith(`${other}.`)) after.delete(other);
    after.set(key, given[at + 1] ?? '');
  }
  const bytes = bytesOfTexts(after.keys()) + bytesOfTexts(after.values());
  const isWithin = after.size <= ENTITY_PROPERTIES_MAX && bytes <= ENTITY_TEXT_MAX_BYTES;
  // A document that is too large already may become smaller.
  return isWithin || (after.size <= before && bytes <= bytesBefore);
}
