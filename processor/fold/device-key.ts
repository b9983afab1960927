import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { EventView } from './event-view.ts';

const KEY_MAX_BYTES = 65_536;

/**
 * The key of a device: its site and its name, each with its length, as they stand in a row. One code unit is one byte,
 * so the key is unique and can be written as it is.
 */
export function deviceKeyOf(projectId: string, deviceId: string): string {
  const writer = new RowBinaryWriter(KEY_MAX_BYTES);
  writer.string(projectId);
  writer.string(deviceId);
  return writer.bytes().toString('latin1');
}

/** The key of an event's device. */
export function deviceKeyAt(event: EventView): string {
  return event.bytes.toString('latin1', event.rowStart, event.deviceEnd);
}
