import { assert, must } from '../../infra/assert.ts';

/**
 * Runs of bytes that many sessions share (a page, a source, a device's environment), each stored once and counted by
 * reference. A run is a text of one code unit per byte: a Map can look it up and a writer can write it back without an
 * object per run. Id 0 is the empty run and is never counted.
 */
export interface Interned {
  readonly idByText: Map<string, number>;
  readonly textById: string[];
  readonly references: number[];
  readonly freeIds: number[];
}

export function createInterned(): Interned {
  return { idByText: new Map(), textById: [''], references: [0], freeIds: [] };
}

/** The id of `text`, with one more reference. */
export function intern(interned: Interned, text: string): number {
  if (text === '') return 0;
  const known = interned.idByText.get(text);
  if (known !== undefined) {
    interned.references[known] = (interned.references[known] ?? 0) + 1;
    return known;
  }
  const id = interned.freeIds.pop() ?? interned.textById.length;
  interned.idByText.set(text, id);
  interned.textById[id] = text;
  interned.references[id] = 1;
  return id;
}

/** Releases one reference; a run without references is freed. */
export function release(interned: Interned, id: number): void {
  if (id === 0) return;
  const left = must(interned.references[id], 'an unknown run is released') - 1;
  assert(left >= 0, 'a run is released more often than it was referenced');
  interned.references[id] = left;
  if (left > 0) return;
  interned.idByText.delete(textOf(interned, id));
  interned.textById[id] = '';
  interned.freeIds.push(id);
}

/** The bytes of a run, one code unit each. */
export function textOf(interned: Interned, id: number): string {
  return must(interned.textById[id], 'an unknown run is read');
}

/** A text as the run of its UTF-8 bytes, which is how keys that come from messages are stored. */
export function runOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
