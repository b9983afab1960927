import { randomUUID } from 'node:crypto';
import type { Entry, Mirror } from '../../infra/bus/mirror.ts';
import type { Call, EndpointAnswer } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import { type ManageDeps, newestFirst, noSuch, nowText } from './manage.ts';
import { tagged } from './records.ts';

/** What every record that is made under a random id begins with. */
export interface Stamp {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What of a request says which record is meant, and by whom. */
export type Asked = Pick<Call<unknown, unknown>, 'client' | 'path' | 'ifMatch'>;

/** A kind of record: where it is kept, whose it is, and how it is answered. */
export interface ControlRecordKind<Value extends Stamp> {
  /** As messages call it; `${what}Id` is what paths call its id. */
  readonly what: string;
  readonly mirror: Mirror<Value>;
  /**
   * Finds what stands above the record, and says which records belong to that. Throws a `RejectError` where there is
   * nothing above that the client may have, before any record is looked at: the answer must not tell whether there is one.
   */
  readonly belongs: (asked: Asked) => (value: Value) => boolean;
  /** The record without what is nobody's business. */
  readonly shown: (value: Value) => unknown;
}

/** The record that a request names. One that the client may not have is as unknown as one that does not exist. */
export function entryOf<Value extends Stamp>(kind: ControlRecordKind<Value>, asked: Asked): Entry<Value> {
  const isTheirs = kind.belongs(asked);
  const entry = kind.mirror.entry(kind.mirror.prefix + idIn(kind, asked).toLowerCase());
  if (entry === undefined || !isTheirs(entry.value)) throw unknownRecord(kind, asked);
  return entry;
}

/** All records that belong to what a request names, newest first. */
export function listOf<Value extends Stamp>(kind: ControlRecordKind<Value>, asked: Asked): Value[] {
  const isTheirs = kind.belongs(asked);
  const all = [...kind.mirror.entries()].map(({ value }) => value);
  return newestFirst(all.filter(isTheirs));
}

/** Stores what `make` makes under a random id. */
export async function createRecord<Value extends Stamp>(
  { records, clock }: ManageDeps,
  mirror: Mirror<Value>,
  make: (stamp: Stamp) => Value,
): Promise<Entry<Value>> {
  const at = nowText(clock);
  const value = make({ id: randomUUID(), createdAt: at, updatedAt: at });
  const entry = await records.create(mirror, mirror.prefix + value.id, value);
  if (entry === undefined) throw new Error('a random id was taken');
  return entry;
}

/** The answer that shows one record. */
export function answerEntry<Value extends Stamp>(
  kind: ControlRecordKind<Value>,
  entry: Entry<Value>,
): EndpointAnswer {
  return tagged(entry, { data: kind.shown(entry.value) });
}

/** Changes the record that a request names into what `change` makes of it, which may be called more than once. */
export async function changeRecord<Value extends Stamp>(
  { records, clock }: ManageDeps,
  kind: ControlRecordKind<Value>,
  asked: Asked,
  change: (current: Value) => Value,
): Promise<Entry<Value>> {
  return records.change(kind.mirror, entryOf(kind, asked).key, asked.ifMatch, {
    change: (current) => ({ ...change(current), updatedAt: nowText(clock) }),
    missing: () => unknownRecord(kind, asked),
  });
}

/** Removes the record that a request names. The answer shows it for the last time. */
export async function removeRecord<Value extends Stamp>(
  { records }: ManageDeps,
  kind: ControlRecordKind<Value>,
  asked: Asked,
): Promise<EndpointAnswer> {
  const { key } = entryOf(kind, asked);
  const removed = await records.remove(kind.mirror, key, asked.ifMatch, () => unknownRecord(kind, asked));
  return { json: { data: kind.shown(removed) } };
}

/** Refuses one more than `max`. Of several that are made in the same moment some may slip through. */
export function rejectMoreThan(max: number, what: string, before: readonly unknown[]): void {
  if (before.length < max) return;
  throw new RejectError(
    'invalid',
    `body: there are ${max} ${what} already, which is the most; delete one first`,
  );
}

function unknownRecord<Value extends Stamp>(kind: ControlRecordKind<Value>, asked: Asked): RejectError {
  return noSuch(kind.what, idIn(kind, asked));
}

function idIn<Value extends Stamp>({ what }: ControlRecordKind<Value>, { path }: Asked): string {
  return path[`${what}Id`] ?? '';
}
