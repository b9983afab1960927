import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { entityKeyOf } from '../../ingest/entity-lookup.ts';
import { type EntityUpdate, entityKindOf } from '../../ingest/entity-update.ts';
import type { EntityDocument } from './document.ts';

/** The name of the entity that an update or a question is about. */
export interface EntityName {
  readonly kind: EntityDocument['kind'];
  readonly projectId: StoredId;
  readonly id: string;
}

/** The entity that an update changes. */
export function entityNameOf({ kind, projectId, id }: EntityUpdate): EntityName {
  return { kind: entityKindOf(kind), projectId, id };
}

const ABSENT = 'absent';
const ABSENT_CHARS = 100;
const DOCUMENT_CHARS = 400;

/** Clean entities are retained up to this many, and up to about this many characters together. */
export interface BookLimits {
  readonly cleanMax: number;
  readonly cleanCharsMax: number;
}

export const BOOK_LIMITS: BookLimits = { cleanMax: 50_000, cleanCharsMax: 33_554_432 };

/**
 * The entities of one lane in memory: all whose last state is not in the store, and as many others as have room.
 * Documents never change; an update replaces them.
 */
export class EntityBook {
  /** Changed since the last flush that brought them. */
  readonly #dirty = new Map<string, EntityDocument>();
  #dirtyChars = 0;
  /**
   * The most recently used entities, as in the store; `absent` when the store has none. Orders are always loaded: an erasure changes them
   * in the store.
   */
  readonly #clean: LRUCache<string, EntityDocument | typeof ABSENT>;

  constructor(limits: BookLimits) {
    this.#clean = new LRUCache({
      max: limits.cleanMax,
      maxSize: limits.cleanCharsMax,
      sizeCalculation: (known) => (known === ABSENT ? ABSENT_CHARS : charsOf(known)),
    });
  }

  /** Number of entities that wait for the store. */
  get dirtyEntities(): number {
    return this.#dirty.size;
  }

  /** Approximate number of characters in them. */
  get dirtyChars(): number {
    return this.#dirtyChars;
  }

  /** True if the entity, or its absence, is known. */
  knows(name: EntityName): boolean {
    const key = entityKey(name);
    return this.#dirty.has(key) || this.#clean.has(key);
  }

  /** The entity; undefined if it does not exist or is unknown. */
  find(name: EntityName): EntityDocument | undefined {
    const key = entityKey(name);
    const clean = this.#dirty.get(key) ?? this.#clean.get(key);
    return clean === ABSENT ? undefined : clean;
  }

  /** Takes the stored state of an entity that is not known here. */
  learn(name: EntityName, document: EntityDocument | undefined): void {
    if (name.kind !== 'order' && !this.knows(name)) this.#clean.set(entityKey(name), document ?? ABSENT);
  }

  change(document: EntityDocument): void {
    const key = entityKey(document);
    const before = this.#dirty.get(key);
    this.#dirtyChars += charsOf(document) - (before === undefined ? 0 : charsOf(before));
    this.#dirty.set(key, document);
  }

  /** Removes these entities, also changes that the store does not have yet. */
  erase(isMeant: (key: string) => boolean): void {
    for (const [key, document] of this.#dirty) {
      if (!isMeant(key)) continue;
      this.#dirty.delete(key);
      this.#dirtyChars -= charsOf(document);
    }
    for (const key of [...this.#clean.keys()]) if (isMeant(key)) this.#clean.delete(key);
  }

  /** True if the store lacks the last state of a profile or group of this site. */
  hasDirtyPeople(projectId: StoredId): boolean {
    for (const document of this.#dirty.values())
      if ((document.kind === 'profile' || document.kind === 'group') && document.projectId === projectId)
        return true;
    return false;
  }

  /** The documents that the store does not have. */
  dirty(): readonly EntityDocument[] {
    return [...this.#dirty.values()];
  }

  /** Notes that the store has these documents. Documents that changed meanwhile stay dirty. */
  settle(documents: readonly EntityDocument[]): void {
    for (const document of documents) {
      const key = entityKey(document);
      if (this.#dirty.get(key) !== document) continue;
      this.#dirty.delete(key);
      this.#dirtyChars -= charsOf(document);
      if (document.kind !== 'order') this.#clean.set(key, document);
    }
  }
}

/** A text that no other entity has. */
export function entityKey({ kind, projectId, id }: EntityName): string {
  return `${projectId}\n${entityKeyOf(kind, id)}`;
}

/** Approximate length of a document; every document costs a minimum. */
function charsOf(document: EntityDocument): number {
  let chars = DOCUMENT_CHARS;
  for (const text of document.updateIds) chars += text.length;
  if (document.kind === 'profile') for (const text of document.groups) chars += text.length;
  if (document.kind === 'profile' || document.kind === 'group') {
    for (const text of document.properties) chars += text.length;
    for (const text of document.devices) chars += text.length;
  }
  if (document.kind === 'order') {
    for (const { event } of document.waiting) chars += event.length;
    chars += (document.answered?.deviceId.length ?? 0) + (document.answered?.sessionId.length ?? 0);
  }
  return chars;
}
