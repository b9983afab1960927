import { randomUUID } from 'node:crypto';
import type { Entry, Mirror } from '../../infra/bus/mirror.ts';
import type { EndpointAnswer, EndpointCall } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import { type ManageDeps, newestFirst, noSuch, nowText } from './manage.ts';
import { tagged } from './records.ts';
import { createWithin, type TeamLimit } from './team-limits.ts';

/** The fields of every record with a random id. */
export interface Stamp {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A request for one record, or to create one. */
export type RecordCall<Body = unknown> = EndpointCall<Record<string, never>, Body>;

/** The parts of a request that identify a record and the client. */
export type RecordRequest = Pick<EndpointCall<unknown, unknown>, 'client' | 'path' | 'ifMatch'>;

/** A kind of control record: its mirror, its owner, and its returned form. */
export interface ControlRecordKind<Value extends Stamp> {
  /** The name in messages; the path parameter of its id is `${what}Id`. */
  readonly what: string;
  readonly mirror: Mirror<Value>;
  /**
   * Resolves the parent in the request and returns a test for records that belong to it. Throws a `RejectError` if the
   * client may not access the parent, before any record is looked up, so that the response does not reveal whether the
   * record exists.
   */
  readonly belongs: (request: RecordRequest) => (value: Value) => boolean;
  /** The record without internal fields. */
  readonly shown: (value: Value) => object;
}

/**
 * Returns the record that a request names. A record that the client may not access is reported as unknown, like a missing one.
 */
export function entryOf<Value extends Stamp>(
  kind: ControlRecordKind<Value>,
  request: RecordRequest,
): Entry<Value> {
  const belongs = kind.belongs(request);
  const entry = kind.mirror.entry(kind.mirror.prefix + idIn(kind, request).toLowerCase());
  if (entry === undefined || !belongs(entry.value)) throw unknownRecord(kind, request);
  return entry;
}

/** All records that belong to the parent in a request, newest first. */
export function listOf<Value extends Stamp>(kind: ControlRecordKind<Value>, request: RecordRequest): Value[] {
  const belongs = kind.belongs(request);
  const all = [...kind.mirror.entries()].map(({ value }) => value);
  return newestFirst(all.filter(belongs));
}

/** Stores the record that `make` returns under a random id. Throws a `RejectError` at the limit. */
export async function createRecord<Value extends Stamp>(
  { records, clock }: ManageDeps,
  mirror: Mirror<Value>,
  make: (stamp: Stamp) => Value,
  limit?: TeamLimit<Value>,
): Promise<Entry<Value>> {
  const at = nowText(clock);
  const value = make({ id: randomUUID(), createdAt: at, updatedAt: at });
  const key = mirror.prefix + value.id;
  const create = () => records.create(mirror, key, value);
  const undo = () => records.remove(mirror, key, '', () => noSuch('record', value.id));
  const entry = limit === undefined ? await create() : await createWithin(limit, key, { create, undo });
  if (entry === undefined) throw new Error('a random id is already taken');
  return entry;
}

/** A response with one record and its ETag. */
export function answerEntry<Value extends Stamp>(
  kind: ControlRecordKind<Value>,
  entry: Entry<Value>,
): EndpointAnswer {
  return tagged(entry, { data: kind.shown(entry.value) });
}

/** Applies `change` to the record that a request names; `change` may be called more than once. */
export async function changeRecord<Value extends Stamp>(
  { records, clock }: ManageDeps,
  kind: ControlRecordKind<Value>,
  request: RecordRequest,
  change: (current: Value) => Value,
): Promise<Entry<Value>> {
  return records.change(kind.mirror, entryOf(kind, request).key, request.ifMatch, {
    change: (current) => ({ ...change(current), updatedAt: nowText(clock) }),
    missing: () => unknownRecord(kind, request),
  });
}

/** Removes the record that a request names; the response contains its last state. */
export async function removeRecord<Value extends Stamp>(
  { records }: ManageDeps,
  kind: ControlRecordKind<Value>,
  request: RecordRequest,
): Promise<EndpointAnswer> {
  const { key } = entryOf(kind, request);
  const { ifMatch } = request;
  const missing = () => unknownRecord(kind, request);
  return { json: { data: await records.removeShown(kind.mirror, key, { ifMatch, missing }, kind.shown) } };
}

/** Throws a `RejectError` at the limit. Concurrent creations may exceed it slightly. */
export function rejectMoreThan(max: number, what: string, before: readonly unknown[]): void {
  if (before.length < max) return;
  throw new RejectError('invalid', `body: limit of ${max} ${what} reached; delete one first`);
}

/** Throws a `RejectError` if another record of the site has the name, by which questions refer to it. */
export function rejectTakenName(name: string, others: readonly string[]): void {
  if (others.includes(name)) throw new RejectError('invalid', 'name: another one of the site has this name');
}

function unknownRecord<Value extends Stamp>(
  kind: ControlRecordKind<Value>,
  request: RecordRequest,
): RejectError {
  return noSuch(kind.what, idIn(kind, request));
}

function idIn<Value extends Stamp>({ what }: ControlRecordKind<Value>, { path }: RecordRequest): string {
  return path[`${what}Id`] ?? '';
}
