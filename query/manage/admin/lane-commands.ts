import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { openLayouts, storedLayout, storeLayout } from '../../../infra/process/agreed-lanes.ts';
import { LANES_MAX, type LaneLayout } from '../../../infra/process/service-lanes.ts';
import { UsageError } from './arguments.ts';
import type { CommandOutput, NoteWriter } from './table.ts';

const LOOK_EVERY_MS = 200;
const STILL_WAITING_EVERY_MS = 10_000;

/** `lane count`: how many lanes the service has. */
export async function countLanes(bus: Bus): Promise<CommandOutput> {
  const { lanes, growingTo } = await presentLayout(await openLayouts(bus));
  const growing = growingTo === undefined ? '' : `, growing to ${growingTo}`;
  return { lines: [`${lanes}${growing}`], json: { data: { lanes, growingTo: growingTo ?? null } } };
}

/** `lane grow`: lets the running service grow to this number, and waits until it has. A growth that was begun is waited for as well. */
export async function growLanes(bus: Bus, value: string, writeNote: NoteWriter): Promise<CommandOutput> {
  const wanted = Number(value);
  if (!/^\d+$/.test(value) || wanted < 1 || wanted > LANES_MAX)
    throw new UsageError(`lane grow: expected a number from 1 to ${LANES_MAX}`);
  const records = await openLayouts(bus);
  const startMs = performance.now();
  const before = await presentLayout(records);
  if (before.growingTo === undefined && before.lanes !== wanted) {
    if (wanted % before.lanes !== 0 || wanted < before.lanes)
      throw new Error(
        `the service has ${before.lanes} lanes: their number can only be multiplied, so that each lane is divided among new ones`,
      );
    const stored = await storedLayout(records);
    await storeLayout(records, { ...before, growingTo: wanted }, stored?.revision ?? 0);
  } else if (before.growingTo !== undefined && before.growingTo !== wanted) {
    throw new Error(`the service is growing to ${before.growingTo} lanes: wait for that first`);
  }
  await untilGrown(records, wanted, writeNote);
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
  return {
    lines: [
      before.lanes === wanted
        ? `the service has ${wanted} lanes`
        : `the service has grown from ${before.lanes} to ${wanted} lanes, in ${seconds} s`,
    ],
    json: { data: { lanes: wanted, before: before.lanes } },
  };
}

async function untilGrown(records: KeyedBytes, wanted: number, writeNote: NoteWriter): Promise<void> {
  let toldMs = performance.now();
  for (;;) {
    const { lanes, growingTo } = await presentLayout(records);
    if (lanes === wanted && growingTo === undefined) return;
    if (growingTo === undefined)
      throw new Error('the service goes on as before; the log of the processor says why it did not grow');
    if (performance.now() - toldMs > STILL_WAITING_EVERY_MS) {
      toldMs = performance.now();
      writeNote('waiting for the processors; their logs say why if this goes on');
    }
    await sleep(LOOK_EVERY_MS);
  }
}

async function presentLayout(records: KeyedBytes): Promise<LaneLayout> {
  const stored = await storedLayout(records);
  if (stored === undefined) throw new Error('no service has run on this bus');
  return stored.layout;
}
