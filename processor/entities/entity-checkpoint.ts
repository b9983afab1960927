import { z } from 'zod';
import { decodeJsonContract } from '../../infra/bus/json-contract.ts';

/** Progress of a lane's entities: everything up to `sequence` is in the store. */
export interface EntityCheckpoint {
  readonly version: 1;
  readonly sequence: number;
  /** The last message of each publisher up to `sequence`; the publisher that was silent longest comes first. */
  readonly publishers: readonly (readonly [publisher: string, sequence: number])[];
}

const schema = z.strictObject({
  version: z.literal(1),
  sequence: z.int().min(0),
  publishers: z.array(z.tuple([z.string(), z.number()]).readonly()).readonly(),
});

export const FIRST_ENTITY_CHECKPOINT: EntityCheckpoint = { version: 1, sequence: 0, publishers: [] };

/** The key of a lane's checkpoint of its entities in the bucket of the lanes. */
export function entityCheckpointKeyOf(lane: number): string {
  return `lane-${lane}-records`;
}

export function encodeEntityCheckpoint(checkpoint: EntityCheckpoint): Uint8Array {
  return Buffer.from(JSON.stringify(checkpoint));
}

/** @throws {DecodeError} */
export function decodeEntityCheckpoint(bytes: Uint8Array): EntityCheckpoint {
  return decodeJsonContract(bytes, { name: 'entity checkpoint', versions: [1], schema });
}
