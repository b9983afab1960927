import type { StoredId } from '../../infra/accounts/ids.ts';
import type { DeviceId } from '../../ingest/event.ts';
import type { EventView } from './event-view.ts';
import { runOf } from './interned.ts';

/**
 * The key of a device: its site and its name, each with its length, as in a row. One code unit is one byte, so the key
 * is unique and can be written unchanged.
 */
export function deviceKeyOf(projectId: StoredId, deviceId: DeviceId): string {
  return keyOfRuns(runOf(projectId), runOf(deviceId));
}

/** The same of runs of bytes. */
export function keyOfRuns(site: string, device: string): string {
  return lengthOf(site) + site + lengthOf(device) + device;
}

/** The key of an event's device. */
export function deviceKeyAt(event: EventView): string {
  return event.bytes.toString('latin1', event.rowStart, event.deviceEnd);
}

/** The site of a key, as a run of bytes. */
export function siteIn(deviceKey: string): string {
  return textIn(deviceKey, 0);
}

/** The name of a key, as a run of bytes. */
export function nameIn(deviceKey: string): string {
  return textIn(deviceKey, endOfText(deviceKey, 0));
}

function textIn(key: string, offset: number): string {
  let start = offset;
  while (key.charCodeAt(start) >= 0x80) start += 1;
  return key.slice(start + 1, endOfText(key, offset));
}

function endOfText(key: string, offset: number): number {
  let length = 0;
  let shift = 0;
  let place = offset;
  for (; key.charCodeAt(place) >= 0x80; place += 1) {
    length |= (key.charCodeAt(place) & 0x7f) << shift;
    shift += 7;
  }
  return place + 1 + (length | (key.charCodeAt(place) << shift));
}

/** A length, as LEB128. */
function lengthOf(run: string): string {
  let text = '';
  let rest = run.length;
  for (; rest >= 0x80; rest >>>= 7) text += String.fromCharCode((rest & 0x7f) | 0x80);
  return text + String.fromCharCode(rest);
}
