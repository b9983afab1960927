import { assert, must } from '../../infra/assert.ts';

/**
 * Runs of bytes that many sessions share (a page, a source, a device's setting), each kept once. A run is kept as a
 * text of one code unit per byte, which a Map can look up and a writer can write back without an object per run.
 * Id 0 is the empty run and is never counted.
 */
export interface Interned {
  readonly idByText: Map<string, number>;
  readonly textById: string[];
  readonly holders: number[];
  readonly freeIds: number[];
}

export function createInterned(): Interned {
  return { idByText: new Map(), textById: [''], holders: [0], freeIds: [] };
}

/** The id of `text`, held once more than before. */
export function hold(interned: Interned, text: string): number {
  if (text === '') return 0;
  const known = interned.idByText.get(text);
  if (known !== undefined) {
    interned.holders[known] = (interned.holders[known] ?? 0) + 1;
    return known;
  }
  const id = interned.freeIds.pop() ?? interned.textById.length;
  interned.idByText.set(text, id);
  interned.textById[id] = text;
  interned.holders[id] = 1;
  return id;
}

/** Gives back one hold; a run that nobody holds is forgotten. */
export function release(interned: Interned, id: number): void {
  if (id === 0) return;
  const left = must(interned.holders[id], 'an unknown run is released') - 1;
  assert(left >= 0, 'a run is released more often than it was held');
  interned.holders[id] = left;
  if (left > 0) return;
  interned.idByText.delete(textOf(interned, id));
  interned.textById[id] = '';
  interned.freeIds.push(id);
}

/** The bytes of a run, one code unit each. */
export function textOf(interned: Interned, id: number): string {
  return must(interned.textById[id], 'an unknown run is read');
}

/** A text as the run of its UTF-8 bytes: how keys that come from messages are kept. */
export function runOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
