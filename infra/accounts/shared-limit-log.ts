import type { RequestLog } from './rate-limit.ts';

const TIME_BYTES = 8;

/** A log as the bus keeps it: its times as little-endian doubles. */
export function encodeLog(log: RequestLog): Uint8Array {
  const bytes = Buffer.allocUnsafe(log.length * TIME_BYTES);
  for (let index = 0; index < log.length; index += 1)
    bytes.writeDoubleLE(log[index] ?? 0, index * TIME_BYTES);
  return bytes;
}

/** The log that `encodeLog` made these bytes of; empty where there are none. */
export function decodeLog(bytes: Uint8Array | undefined): RequestLog {
  if (bytes === undefined) return [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const log: RequestLog = [];
  for (let at = 0; at + TIME_BYTES <= bytes.byteLength; at += TIME_BYTES) log.push(view.getFloat64(at, true));
  return log;
}

/**
 * The requests of both logs, the newest `requestsMax`: older ones decide nothing. Those of one time are taken to be the
 * same in both, so that a log which comes back after a detour is not counted twice.
 */
export function joinLogs(left: RequestLog, right: RequestLog, requestsMax: number): RequestLog {
  const joined: RequestLog = [];
  let leftIndex = 0;
  let rightIndex = 0;
  while (leftIndex < left.length || rightIndex < right.length) {
    const leftMs = left[leftIndex] ?? Number.POSITIVE_INFINITY;
    const rightMs = right[rightIndex] ?? Number.POSITIVE_INFINITY;
    joined.push(Math.min(leftMs, rightMs));
    if (leftMs <= rightMs) leftIndex += 1;
    if (rightMs <= leftMs) rightIndex += 1;
  }
  return joined.slice(-requestsMax);
}
