import { expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { encodeEraseCommands } from '../fold/erase-command.ts';
import { SITE_BYTES_MAX } from '../fold/recent-flushes.ts';
import { decodeHotAnswer, type RowsHead } from '../hot.ts';
import { messageOf, TEST_LIMITS } from '../testing/run.ts';
import { SliceTasks } from './slice-tasks.ts';
import { Slices } from './slices.ts';
import { WorkerHandle } from './worker-handle.ts';

// A lane's slices without threads: their tasks are done in this one.

const MESSAGE_MAX_BYTES = 8_388_608;
const SITE = storedId('demo');

/** Opens a lane with this number of slices and asks it once, so it keeps the rows of later flushes. */
async function openLane(count: number) {
  const threads = Array.from({ length: count }, () => {
    const tasks = new SliceTasks();
    return new WorkerHandle('', () => ({ run: async (task) => tasks.run(task), destroy: async () => {} }));
  });
  const slices = new Slices({ lane: 0, threads, division: { slices: count, partitions: 256 } });
  await slices.open({
    checkpoint: { flushNumber: 0, sequence: 0, clockMs: START_MS, publishers: [], forgettings: [] },
    setAside: [],
    limits: TEST_LIMITS,
    messageMaxBytes: MESSAGE_MAX_BYTES,
  });
  let sequence = 0;
  const fold = async (bytes: Uint8Array) => {
    sequence += 1;
    return slices.fold([{ sequence, bytes }], false);
  };
  const lane = {
    send: (devices: readonly string[], characters = 1) =>
      fold(
        messageOf(
          devices.map((device) => {
            const deviceId = device.padEnd(32, '0');
            return plainEvent({ projectId: SITE, deviceId, properties: ['k', 'v'.repeat(characters)] });
          }),
          sequence + 1,
        ),
      ),
    erase: () =>
      fold(
        encodeEraseCommands({ publisherId: 99n, sentAtMs: START_MS }, [
          { projectId: SITE, profileId: 'someone', beforeMs: null },
        ]),
      ),
    flush: async () => {
      must(await slices.cut(true), 'a flush');
      await slices.flushed();
    },
    /** The flushes in the head of the answer to an asker that holds the rows up to a flush, and the number of its events. */
    asked: async (held: number) => {
      const question = { kind: 'rows', projectId: SITE, held: [held] } as const;
      const { flushNumber, storedFlush, eventRows } = decodeHotAnswer(
        await slices.hot(question, MESSAGE_MAX_BYTES),
      ).head as RowsHead;
      return { flushNumber, storedFlush, eventRows };
    },
  };
  await lane.asked(0);
  return lane;
}

test('an erase command ends the answers as of an earlier flush', async () => {
  const lane = await openLane(1);
  await lane.send(['a']);
  await lane.flush();
  expect(await lane.asked(0)).toMatchObject({ flushNumber: 0, storedFlush: 1 });
  expect((await lane.erase()).isErasing).toBe(true);
  expect(await lane.asked(0)).toEqual({ flushNumber: 1, storedFlush: undefined, eventRows: 0 });
  await lane.flush();
  expect(await lane.asked(1)).toMatchObject({ flushNumber: 2, storedFlush: undefined });
  await lane.send(['b']);
  await lane.flush();
  expect(await lane.asked(2)).toMatchObject({ flushNumber: 2, storedFlush: 3 });
});

test('slices of which only some have the rows of the newest flushes answer together as of the last one', async () => {
  const lane = await openLane(2);
  const devices = Array.from({ length: 32 }, (_, index) => `device-${index}`);
  await lane.send(devices);
  await lane.flush();
  const { eventRows, ...both } = await lane.asked(0);
  expect(both).toEqual({ flushNumber: 0, storedFlush: 1 });
  expect(eventRows).toBeGreaterThanOrEqual(devices.length);
  // More of one device than its slice keeps of a site; the other slice has next to nothing.
  await lane.send(['device-0'], SITE_BYTES_MAX);
  await lane.flush();
  expect(await lane.asked(0)).toEqual({ flushNumber: 2, storedFlush: undefined, eventRows: 0 });
  expect(await lane.asked(2)).toEqual({ flushNumber: 2, storedFlush: undefined, eventRows: 0 });
});
