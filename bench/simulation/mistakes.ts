import { BusError } from '../../infra/bus/bus-error.ts';
import { FencedError, type Ownership } from '../../processor/lane/ownership.ts';
import type { WorkerTask } from '../../processor/lane/worker-tasks.ts';
import type { Mistakes } from './simulated-processor.ts';

/**
 * Mistakes that an owner could make, each planted between it and one of its parts. A schedule with any of them must break a law.
 */
export const MISTAKES: Readonly<Record<string, Mistakes>> = {
  /** Every third checkpoint is not written, and the flush is taken for complete. */
  'skipped-checkpoint': {
    ownership: (_world, ownership) => {
      const complete = ownership.complete.bind(ownership);
      let count = 0;
      ownership.complete = async (checkpoint) => {
        count += 1;
        if (count % 3 !== 0) await complete(checkpoint);
      };
    },
  },
  /** Messages leave the bus as soon as their flush begins. */
  'early-trim': {
    ownership: (world, ownership, lane) => {
      const declare = ownership.declare.bind(ownership);
      ownership.declare = async (intent) => {
        await declare(intent);
        await world.bus.trim(world.streamOf(lane), intent.sequence).catch(ignoreBus);
      };
    },
  },
  /** An owner that takes a lane over counts its flushes from the last one again. */
  'reused-flush-number': {
    thread: (thread) => ({
      ...thread,
      run: (task, options) => thread.run(countedAgain(task), options),
    }),
  },
  /** An owner that has lost its lane continues. */
  'forgotten-fence': {
    ownership: (_world, ownership) => {
      ownership.confirm = () => {};
      for (const name of ['declare', 'complete', 'renew', 'giveUp'] as const) ignoreFence(ownership, name);
    },
  },
  /** Reads of the store go to a replica that is behind. */
  'stale-replica': {
    ownership: (world) => {
      world.store.isStale = true;
    },
  },
};

function countedAgain(task: WorkerTask): WorkerTask {
  if (task.kind !== 'open' || task.checkpoint.flushNumber === 0) return task;
  return { ...task, checkpoint: { ...task.checkpoint, flushNumber: task.checkpoint.flushNumber - 1 } };
}

function ignoreFence(ownership: Ownership, name: 'declare' | 'complete' | 'renew' | 'giveUp'): void {
  const write = ownership[name].bind(ownership) as (...args: readonly unknown[]) => Promise<void>;
  const ignoring = (...args: readonly unknown[]) =>
    write(...args).catch((error: unknown) => {
      if (!(error instanceof FencedError)) throw error;
    });
  Object.assign(ownership, { [name]: ignoring });
}

function ignoreBus(error: unknown): void {
  if (!(error instanceof BusError)) throw error;
}
