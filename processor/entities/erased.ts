import type { EraseCommand } from '../fold/erase-command.ts';
import type { EntityDocument } from './document.ts';
import { type EntityName, entityKey } from './entity-book.ts';

/** Erasures that are remembered; the oldest is dropped, since a purge removes the rows within moments. */
const ERASED_MAX = 1_000;

interface Erased {
  readonly isMeant: (key: string) => boolean;
  readonly version: bigint;
}

/**
 * The erased entities, and the versions of their erase commands: until the store has lost their rows, a stored document counts as absent if
 * it is no newer than the erase command.
 */
export class ErasedEntities {
  #all: Erased[] = [];

  /** Notes the commands of a message with this version; returns which keys of entities they erase. */
  note(commands: readonly EraseCommand[], version: bigint): (key: string) => boolean {
    const predicates = commands.filter(({ beforeMs }) => beforeMs === null).map(keysOf);
    const isMeant = (key: string) => predicates.some((one) => one(key));
    this.#all = [...this.#all, { isMeant, version }].slice(-ERASED_MAX);
    return isMeant;
  }

  /** True if a stored document counts as absent. */
  has(name: EntityName, document: EntityDocument): boolean {
    if (this.#all.length === 0) return false;
    const key = entityKey(name);
    return this.#all.some(({ isMeant, version }) => document.version <= version && isMeant(key));
  }
}

function keysOf({ projectId, profileId }: EraseCommand): (key: string) => boolean {
  if (profileId !== null) {
    const one = entityKey({ kind: 'profile', projectId, id: profileId });
    return (key) => key === one;
  }
  return (key) => key.startsWith(`${projectId}\n`);
}

/** The version of a document that the message `sequence` of a stream changed last; `createdMs`: when the stream was made. */
export function entityVersionOf(createdMs: number, sequence: number): bigint {
  // A new stream counts from one again; its creation time makes its versions higher than the previous stream's.
  return (BigInt(Math.floor(createdMs / 1000)) << 32n) | BigInt(sequence);
}
