import type { EntityDocument } from './document.ts';
import { entityKey } from './entity-book.ts';

/** Entities that are remembered as unstorable; beyond it the oldest is forgotten, and found out again. */
const ENTITIES_MAX = 1_000;

/** A document that cannot be encoded, or that the store refuses. */
export interface UnstorableDocument {
  readonly document: EntityDocument;
  readonly reason: string;
}

/** Some documents of a flush cannot be stored. All others are. */
export class UnstorableError extends Error {
  override readonly name = 'UnstorableError';
  readonly documents: readonly UnstorableDocument[];

  constructor(documents: readonly UnstorableDocument[]) {
    super(`${documents.length} entities cannot be stored: ${documents[0]?.reason}`);
    this.documents = documents;
  }
}

/**
 * Entities whose updates led to a document that cannot be stored. The lane applies the same messages once more from its
 * checkpoint, without these updates, which become dead letters. Nothing is recorded: the next owner finds out in the
 * same way.
 */
export class UnstorableEntities {
  readonly #byKey = new Map<string, { readonly version: bigint; readonly reason: string }>();

  /** `version` is the version of the last message that the flush held. */
  note({ documents }: UnstorableError, version: bigint): void {
    for (const { document, reason } of documents) {
      const key = entityKey(document);
      this.#byKey.delete(key);
      this.#byKey.set(key, { version, reason });
      if (this.#byKey.size <= ENTITIES_MAX) continue;
      for (const oldest of this.#byKey.keys()) {
        this.#byKey.delete(oldest);
        break;
      }
    }
  }

  /** Why the updates of this entity in the message of this version are set aside; undefined when they are not. */
  reasonOf(key: string, version: bigint): string | undefined {
    if (this.#byKey.size === 0) return undefined;
    const known = this.#byKey.get(key);
    return known === undefined || version > known.version ? undefined : known.reason;
  }
}
