import { z } from 'zod';
import { BusError } from '../../infra/bus/bus-error.ts';
import { decodeJsonContract } from '../../infra/bus/json-contract.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type BegunRestore, decodeLaneRecord, laneKeyOf } from './lane-record.ts';

const VERSION = 1;
const decisionSchema = z.strictObject({
  version: z.literal(VERSION),
  decision: z.enum(['begun', 'declined', 'complete']),
});

/**
 * Decision of all lanes about a restore. `begun`: each has stopped and waits, and their tables are being switched; `declined`: not all of
 * them did so in time, and nothing was changed; `complete`: the tables are switched.
 */
export type RestoreDecision = z.output<typeof decisionSchema>['decision'];

/**
 * A restore that several lanes do together, as one of their owners sees it. Tables belong to all lanes, so all lanes have to wait while
 * they are switched:
 *
 *     each lane stops ─▶ its record: restore ─┬─▶ all have it: begun ─▶ tables switched ─▶ complete ─▶ each record: checkpoint
 *                                             └─▶ one is missing for too long: declined ─▶ each record: no restore
 *
 * The decision has a key of its own for each attempt, and each of its writes names the revision before: so it is either begun or declined.
 * A lane leaves only after `declined` or `complete`. So lanes that were seen to wait, however long ago, still wait when `begun` can be
 * written.
 */
export class JointRestore {
  readonly #records: KeyedBytes;
  readonly #attempt: string;
  readonly #lanes: number;

  constructor(
    records: KeyedBytes,
    { attempt, lanes }: Pick<BegunRestore, 'attempt'> & { readonly lanes: number },
  ) {
    this.#records = records;
    this.#attempt = attempt;
    this.#lanes = lanes;
  }

  /** The decision; undefined: none yet. */
  async decided(): Promise<RestoreDecision | undefined> {
    return (await this.#read()).decision;
  }

  /** Begins if all lanes wait and there is no decision. Returns the decision afterwards. */
  async begin(): Promise<RestoreDecision | undefined> {
    const { decision, revision } = await this.#read();
    if (decision !== undefined || !(await this.#allWait())) return decision;
    return this.#decide('begun', revision);
  }

  /** Declines if there is no decision. Returns the decision afterwards. */
  async decline(): Promise<RestoreDecision | undefined> {
    const { decision, revision } = await this.#read();
    return decision ?? this.#decide('declined', revision);
  }

  /** Says that the tables are switched; can be repeated. */
  async complete(): Promise<void> {
    for (;;) {
      const { decision, revision } = await this.#read();
      if (decision === 'complete') return;
      await this.#decide('complete', revision);
    }
  }

  async #allWait(): Promise<boolean> {
    for (let lane = 0; lane < this.#lanes; lane += 1) {
      const stored = await this.#records.get(laneKeyOf(lane));
      if (stored?.bytes === undefined) return false;
      if (decodeLaneRecord(stored.bytes).restore?.attempt !== this.#attempt) return false;
    }
    return true;
  }

  async #read(): Promise<{ readonly decision: RestoreDecision | undefined; readonly revision: number }> {
    const stored = await this.#records.get(this.#key);
    const decision = stored?.bytes === undefined ? undefined : decodeDecision(stored.bytes);
    return { decision, revision: stored?.revision ?? 0 };
  }

  /** Writes a decision behind this revision. Returns the decision afterwards, another process's if it was faster. */
  async #decide(decision: RestoreDecision, revision: number): Promise<RestoreDecision | undefined> {
    try {
      await this.#records.put(this.#key, encodeDecision(decision), revision);
      return decision;
    } catch (error) {
      if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
      return this.decided();
    }
  }

  get #key(): string {
    return `restore-${this.#attempt}`;
  }
}

function encodeDecision(decision: RestoreDecision): Uint8Array {
  return Buffer.from(JSON.stringify({ version: VERSION, decision }));
}

function decodeDecision(bytes: Uint8Array): RestoreDecision {
  const contract = { name: 'decision about a restore', versions: [VERSION], schema: decisionSchema };
  return decodeJsonContract(bytes, contract).decision;
}
