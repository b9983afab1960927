import fc from 'fast-check';
import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { deviceKeyOf } from './device-key.ts';
import { createInterned, intern } from './interned.ts';
import {
  createDeviceSessions,
  deviceKeyOfSlot,
  firstBeside,
  firstOfDevice,
  isEmptyIndex,
  linkToDevice,
  nextOfDevice,
  type SessionsByDevice,
  unlinkFromDevice,
} from './session-devices.ts';
import { createSessionTable, freeSlot, takeSlot } from './session-table.ts';

const SITES = ['demo', 'shop', 'ünïcode', 'x'.repeat(200)];
const DIGITS = /^[0-9a-f]{32}$/;

/** Names as collectors derive them, names that differ only a little from them, and any others. */
const names = fc.oneof(
  fc.integer({ min: 0, max: 15 }).map((digit) => digit.toString(16).repeat(32)),
  fc.integer({ min: 0, max: 15 }).map((digit) => digit.toString(16).toUpperCase().repeat(32)),
  fc.integer({ min: 1, max: 9 }).map((number) => `0${number}`.padEnd(32, '0')),
  fc.constantFrom('', 'a', 'gerät', 'a'.repeat(31), 'a'.repeat(33), `${'a'.repeat(31)}g`, 'n'.repeat(300)),
);

const steps = fc.array(
  fc.record({
    site: fc.integer({ min: 0, max: SITES.length - 1 }),
    name: names,
    /** The session that ends, by its number; none when there are fewer. */
    ends: fc.nat({ max: 60 }),
    opens: fc.boolean(),
  }),
  { maxLength: 200 },
);

function create(): SessionsByDevice {
  const sites = createInterned();
  for (const site of SITES) intern(sites, Buffer.from(site).toString('latin1'));
  return { sites, sessions: createSessionTable(), devices: createDeviceSessions() };
}

function open(state: SessionsByDevice, site: number, name: string): number {
  const slot = takeSlot(state.sessions);
  linkToDevice(state, slot, site + 1, deviceKeyOf(storedId(SITES[site] ?? ''), name));
  return slot;
}

function close(state: SessionsByDevice, slot: number): void {
  unlinkFromDevice(state, slot);
  freeSlot(state.sessions, slot);
}

function sessionsOf(state: SessionsByDevice, first: number): number[] {
  const slots: number[] = [];
  for (let slot = first; slot !== 0; slot = nextOfDevice(state.sessions, slot)) slots.push(slot);
  return slots;
}

test('a device has the sessions that a Map of lists has, the newest first, and its key', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const state = create();
      const model = new Map<string, number[]>();
      for (const { site, name, ends, opens } of all) {
        const key = deviceKeyOf(storedId(SITES[site] ?? ''), name);
        if (opens) model.set(key, [open(state, site, name), ...(model.get(key) ?? [])]);
        const ended = [...model.values()].flat()[ends];
        if (ended !== undefined) {
          const [of = ''] = [...model].find(([, slots]) => slots.includes(ended)) ?? [];
          model.set(
            of,
            (model.get(of) ?? []).filter((slot) => slot !== ended),
          );
          close(state, ended);
        }
        expect(sessionsOf(state, firstOfDevice(state, key))).toEqual(model.get(key) ?? []);
      }
      for (const [key, slots] of model) {
        expect(sessionsOf(state, firstOfDevice(state, key))).toEqual(slots);
        for (const slot of slots) {
          expect(deviceKeyOfSlot(state, slot)).toBe(key);
          expect(firstBeside(state, slot)).toBe(slots[0]);
        }
        for (const slot of slots) close(state, slot);
      }
      expect(isEmptyIndex(state.devices)).toBe(true);
    }),
  );
});

test('it grows bucket by bucket, and every one of many devices is found while it does', () => {
  const state = create();
  const count = 40_000;
  const nameOf = (index: number) =>
    index % 100 === 0
      ? `device ${index}`
      : Math.imul(index, 0x9e3779b1).toString(16).replace('-', 'f').padStart(32, '0');
  const slots = new Map<number, number>();
  for (let index = 0; index < count; index += 1) {
    slots.set(index, open(state, index % SITES.length, nameOf(index)));
    if (index % 3 === 2) {
      close(state, slots.get(index - 1) ?? 0);
      slots.delete(index - 1);
    }
  }
  expect(state.sessions.count).toBe(slots.size);
  expect(state.devices.buckets.count).toBe(slots.size);
  expect(DIGITS.test(nameOf(1))).toBe(true);
  for (let index = 0; index < count; index += 1) {
    const key = deviceKeyOf(storedId(SITES[index % SITES.length] ?? ''), nameOf(index));
    expect(firstOfDevice(state, key)).toBe(slots.get(index) ?? 0);
  }
  const longest = Math.max(
    ...Array.from(state.devices.buckets.heads, (first) => lengthOfBucket(state, first)),
  );
  expect(longest).toBeLessThan(16);
  // Later sessions took the freed slots.
  expect(state.sessions.used).toBe(slots.size + 1);
});

function lengthOfBucket({ sessions }: SessionsByDevice, first: number): number {
  let length = 0;
  for (let slot = first; slot !== 0; slot = sessions.nextInBucket[slot] ?? 0) length += 1;
  return length;
}
