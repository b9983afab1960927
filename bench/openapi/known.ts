import type { SeededRandom } from '../../ingest/testing/random.ts';
import type { Credential } from '../cluster/client.ts';
import type { ListedOperation } from './operations.ts';

/** Every second restore is of a thing that is not deleted, which is answered 409. */
const NOT_DELETED_EVERY = 2;

/** The names in the path of one thing: `{projectId, dashboardId}`. */
export type Names = Readonly<Record<string, string>>;

interface Known {
  readonly names: Names;
  readonly etag: string;
}

const KNOWN_MAX = 60;

/**
 * Things that exist according to the service. A POST returns the name that the path below it contains, so nothing about projects
 * or dashboards has to be known here. Things in `kept` are never changed or deleted.
 */
export class KnownThings {
  readonly #operations: readonly ListedOperation[];
  /** By the last name of the path; things that exist once below another thing, by their whole path. */
  readonly #byName = new Map<string, Known[]>();
  #restores = 0;
  readonly #gone: { readonly own: string; readonly value: string }[] = [];
  readonly #cached: readonly Names[];

  constructor(operations: readonly ListedOperation[], kept: readonly Names[]) {
    this.#operations = operations;
    this.#cached = kept;
  }

  /** Learns from a 200 answer. `names` are the values in the request's path. */
  learn(operation: ListedOperation, given: Names, body: unknown, etag: string): void {
    const own = lastName(operation.path);
    const names = Object.fromEntries(
      Object.entries(given).filter(([name]) => operation.path.includes(`{${name}}`)),
    );
    const shown = fieldOf(body, 'data') ?? body;
    const id = fieldOf(shown, 'id');
    const below = this.#operations.find(({ path }) => isOneBelow(path, operation.path));
    const add = (found: unknown) => {
      if (below === undefined || typeof found !== 'string') return;
      const name = lastName(below.path);
      this.#add(name, { names: { ...names, [name]: found }, etag });
    };
    if (isRestore(operation)) this.#restore(own, names, etag);
    else if (this.#isSole(operation)) {
      this.#remove(operation.path, names);
      if (operation.method === 'PUT') this.#add(operation.path, { names, etag });
    } else if (operation.method === 'POST') add(id);
    // Lists show the things that no POST creates. The things of all other lists must stay.
    else if (operation.method === 'GET' && Array.isArray(shown) && !this.#isMade(operation))
      for (const one of shown.slice(0, 3))
        add(fieldOf(one, 'id') ?? (below && fieldOf(one, lastName(below.path))));
    else if (operation.method === 'DELETE' && changesNamed(operation)) this.#drop(own, names);
    else if (own !== '' && etag !== '') this.#renew(own, names, etag);
  }

  /** Removes a thing that was answered 404: it was deleted with another thing, or by a mutated request. */
  missed(operation: ListedOperation, given: Names): void {
    const { path } = operation;
    const own = lastName(path);
    const names = Object.fromEntries(Object.entries(given).filter(([name]) => path.includes(`{${name}}`)));
    if (this.#isSole(operation)) this.#remove(path, names);
    else if (own !== '') this.#drop(own, names);
  }

  /** An existing thing; for a restore, every second time a deleted one. Undefined if there is none of the kind. */
  one(random: SeededRandom, operation: ListedOperation): Known | undefined {
    const name = lastName(operation.path);
    const sole = operation.method === 'DELETE' && this.#isSole(operation) && this.#byName.get(operation.path);
    if (!isRestore(operation) || this.#restores++ % NOT_DELETED_EVERY === 0)
      return chosen(random, sole || (this.#byName.get(name) ?? []));
    const gone = this.#gone.filter(({ own }) => own === name);
    return chosen(
      random,
      gone.map(({ value }) => ({ names: { [name]: value }, etag: '' })),
    );
  }

  /** A created site that may be changed. */
  oneSite(random: SeededRandom): string | undefined {
    return chosen(random, this.#byName.get('projectId') ?? [])?.names.projectId;
  }

  /** One of the things that stay, for an operation that neither changes nor deletes it. */
  keptOne(random: SeededRandom, operation: ListedOperation): Names | undefined {
    if (changesNamed(operation)) return undefined;
    const own = lastName(operation.path);
    return chosen(
      random,
      this.#cached.filter((names) => Object.keys(names).at(-1) === own),
    );
  }

  /** The last name of a deleted thing of that kind. */
  goneOne(random: SeededRandom, { path }: ListedOperation): string | undefined {
    const own = lastName(path);
    return chosen(
      random,
      this.#gone.filter((gone) => gone.own === own),
    )?.value;
  }

  #isMade({ path }: ListedOperation): boolean {
    return this.#operations.some((other) => other.path === path && other.method === 'POST');
  }

  /** True if the path is of a thing that exists once below another and can be created by PUT and deleted. */
  #isSole({ path, method }: ListedOperation): boolean {
    const has = (wanted: string) =>
      this.#operations.some((other) => other.path === path && other.method === wanted);
    return (method === 'PUT' || method === 'DELETE') && !path.endsWith('}') && has('PUT') && has('DELETE');
  }

  #add(name: string, known: Known): void {
    const there = (this.#byName.get(name) ?? []).filter(({ names }) => !holds(names, known.names));
    this.#byName.set(name, [...there, known].slice(-KNOWN_MAX));
  }

  /** Removes things of one kind, and nothing below them. */
  #remove(name: string, gone: Names): void {
    const there = this.#byName.get(name) ?? [];
    this.#byName.set(
      name,
      there.filter(({ names }) => !holds(names, gone)),
    );
  }

  #renew(name: string, names: Names, etag: string): void {
    const there = this.#byName.get(name) ?? [];
    this.#byName.set(
      name,
      there.map((known) => (holds(known.names, names) ? { names: known.names, etag } : known)),
    );
  }

  #restore(name: string, names: Names, etag: string): void {
    const at = this.#gone.findIndex(({ own, value }) => own === name && value === names[name]);
    if (at >= 0) this.#gone.splice(at, 1);
    this.#add(name, { names, etag });
  }

  /** Deleting a thing deletes everything below it. */
  #drop(own: string, names: Names): void {
    for (const name of this.#byName.keys()) this.#remove(name, names);
    const value = names[own] ?? '';
    if (!this.#cached.some((kept) => kept[own] === value)) this.#gone.push({ own, value });
    if (this.#gone.length > KNOWN_MAX) this.#gone.shift();
  }
}

/** A client as a POST or the first start returns it. */
export function credentialIn(body: unknown): Credential | undefined {
  const shown = fieldOf(body, 'data') ?? body;
  for (const holder of [fieldOf(shown, 'client'), shown]) {
    const [id, secret] = [fieldOf(holder, 'id'), fieldOf(holder, 'secret')];
    if (typeof id === 'string' && typeof secret === 'string') return { id, secret };
  }
  return undefined;
}

function chosen<Value>(random: SeededRandom, values: readonly Value[]): Value | undefined {
  return values[random.below(Math.max(values.length, 1))];
}

/** The last `{name}` of a path; empty where there is none. */
export function lastName(path: string): string {
  return [...path.matchAll(/{(\w+)}/g)].at(-1)?.[1] ?? '';
}

/** True if the operation changes or deletes the last thing named in its path. */
export function changesNamed({ method, path }: ListedOperation): boolean {
  return method !== 'GET' && /{\w+}(?:\/(?:rotate|restore))?$/.test(path);
}

/** True if the operation is for deleted things. */
export function isRestore({ path }: Pick<ListedOperation, 'path'>): boolean {
  return path.endsWith('/restore');
}

function isOneBelow(path: string, above: string): boolean {
  return path.startsWith(`${above}/{`) && !path.slice(above.length + 1).includes('/');
}

function holds(whole: Names, part: Names): boolean {
  return Object.entries(part).every(([name, value]) => whole[name] === value);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
