import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { EVENT_MAX_BYTES, encodeEvent, SESSION_GAP_MS } from '../event.ts';
import { eventLists } from './events.ts';

test('every arbitrary event can be encoded', () => {
  const writer = new RowBinaryWriter(EVENT_MAX_BYTES);
  fc.assert(
    fc.property(eventLists(), (events) => {
      for (const event of events) {
        writer.reset();
        encodeEvent(writer, event);
        expect(writer.length).toBeGreaterThan(49);
      }
    }),
  );
});

test('the lists contain repeats, late events and steps exactly at and beyond the gap', () => {
  const seen = { repeats: 0, late: 0, atGap: 0, overGap: 0, withoutSession: 0 };
  for (const events of fc.sample(eventLists({ maxLength: 60 }), { numRuns: 200, seed: 1 })) {
    const lastMs = new Map<string, number>();
    const ids = new Set<string>();
    for (const event of events) {
      if (event.eventId !== '' && ids.has(event.eventId)) seen.repeats += 1;
      ids.add(event.eventId);
      if (event.sessionId === '') seen.withoutSession += 1;
      const key = `${event.projectId} ${event.deviceId}`;
      const stepMs = event.occurredAtMs - (lastMs.get(key) ?? event.occurredAtMs);
      if (stepMs < 0) seen.late += 1;
      if (stepMs === SESSION_GAP_MS) seen.atGap += 1;
      if (stepMs === SESSION_GAP_MS + 1) seen.overGap += 1;
      lastMs.set(key, event.occurredAtMs);
    }
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(5);
});
