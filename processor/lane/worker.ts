import { SliceTasks } from './slice-tasks.ts';
import type { WorkerTask } from './worker-tasks.ts';

// The one place with module state: the pool of this thread gives it one task after the other.
const tasks = new SliceTasks();

/** The thread's side of a pool of one (`worker-handle.ts`). */
export default function work(task: WorkerTask): unknown {
  return tasks.run(task);
}
