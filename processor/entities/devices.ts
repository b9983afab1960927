import type { Authority } from '../../ingest/entity-update.ts';

/**
 * Devices that a profile or group remembers as its own; the oldest is evicted. Their ids change daily, so older ones prove
 * nothing.
 */
export const DEVICES_MAX = 20;

/** True if one of the sender's devices is among `devices`. */
export function hasDevice(devices: readonly string[], { devices: named }: Authority): boolean {
  return named.some((device) => devices.includes(device));
}

/** True if an update applies; `isOwn`: it makes the entity, or comes from one of its devices. */
export function mayChange({ kind }: Authority, isOwn: boolean): boolean {
  return kind !== 'device' || isOwn;
}

/**
 * The devices after an update that applies, in the order in which they came: the sender's device of today joins the devices of its own
 * entity, and a sender with a secret names any. Returns `known` itself if no device is new.
 */
export function devicesAfter(
  known: readonly string[],
  { kind, devices: [device] }: Authority,
  isOwn: boolean,
): readonly string[] {
  if (device === undefined || known.includes(device) || (kind !== 'secret' && !isOwn)) return known;
  return [...known.slice(Math.max(0, known.length + 1 - DEVICES_MAX)), device];
}
