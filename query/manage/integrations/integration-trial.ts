import { randomUUID } from 'node:crypto';
import { BucketError, type ObjectStore } from '../../../infra/object-store/object-store.ts';
import type { Integration } from '../../../processor/integration.ts';
import { RejectError } from '../../reject.ts';
import type { TrialShown } from './integration-api.ts';

/** The time limit of one step. A trial has three, so a response takes at most about ten seconds. */
export const TRIAL_STEP_MAX_MS = 3_000;
const TRIALS_MAX = 4;
const BYTES = Buffer.from('A test object of footfall. It can be deleted.\n');

type TrialStep = TrialShown['steps'][number];
type Problem = Pick<BucketError, 'failure' | 'message'>;

/** Failures after which the object is certainly not written. After all others it may be. */
const NOTHING_WRITTEN: readonly Problem['failure'][] = ['denied', 'no-bucket', 'full', 'address-refused'];

/**
 * Writes a small object to the bucket of an integration, reads it back and removes it. A failure of the bucket is a
 * result, not an error. Throws a `RejectError` while the same integration, or four others, are being tested.
 */
export class Trials {
  readonly #bucketOf: (integration: Integration) => ObjectStore | undefined;
  readonly #running = new Set<string>();

  constructor(bucketOf: (integration: Integration) => ObjectStore | undefined) {
    this.#bucketOf = bucketOf;
  }

  async run(integration: Integration): Promise<TrialShown> {
    const { id, prefix } = integration;
    if (this.#running.has(id))
      throw new RejectError('busy', 'this integration is already being tested; try again');
    if (this.#running.size >= TRIALS_MAX)
      throw new RejectError('busy', `${TRIALS_MAX} integrations are already being tested; try again`);
    const store = this.#bucketOf(integration);
    if (store === undefined) return UNREADABLE;
    this.#running.add(id);
    try {
      return await tryOut(store, `${prefix === '' ? '' : `${prefix}/`}footfall-test-${randomUUID()}`);
    } finally {
      this.#running.delete(id);
      store.close();
    }
  }
}

const UNREADABLE: TrialShown = {
  ok: false,
  failure: 'unreadable',
  message: 'the access key was encrypted with a key that is lost; set it again',
  steps: [],
};

async function tryOut(store: ObjectStore, key: string): Promise<TrialShown> {
  const steps: TrialStep[] = [];
  const step = async (name: TrialStep['name'], work: () => Promise<void>): Promise<Problem | undefined> => {
    const startedAt = performance.now();
    const problem = await problemOf(work);
    steps.push({ name, ok: problem === undefined, ms: Math.round(performance.now() - startedAt) });
    return problem;
  };
  const writing = await step('write', () => store.put(key, BYTES, { contentType: 'text/plain' }));
  const reading = writing === undefined ? await step('read', () => readBack(store, key)) : undefined;
  const mayBeThere = writing === undefined || !NOTHING_WRITTEN.includes(writing.failure);
  const removing = mayBeThere ? await step('remove', () => store.remove(key)) : undefined;
  const first = writing ?? reading ?? removing;
  if (first === undefined)
    return { ok: true, failure: null, message: 'object written, read back and removed', steps };
  const failed = steps.find(({ ok }) => !ok)?.name;
  return { ok: false, failure: first.failure, message: `${failed}: ${first.message}`, steps };
}

async function readBack(store: ObjectStore, key: string): Promise<void> {
  const bytes = await store.get(key, BYTES.length);
  if (bytes === undefined) throw new BucketError('failed', 'the written object is missing');
  if (!BYTES.equals(bytes)) throw new BucketError('failed', 'the object differs from what was written');
}

async function problemOf(work: () => Promise<void>): Promise<Problem | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof BucketError) return error;
    throw error;
  }
}
