import { createHash } from 'node:crypto';
import { Store, type StoreParameters } from '../../infra/store/store.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import { readRows, type StoredRow } from '../../processor/testing/stored-rows.ts';
import type { Network } from './network.ts';
import { answerBytes, answerRows, type StoredTables } from './statements.ts';
import type { Actor } from './virtual-time.ts';

const TIMEOUT_MS = 8_000;
/** A killed store may have accepted tokens within this time that it forgets, because it does not sync them. */
const UNSYNCED_MS = 1_500;
/** Lag of a stale replica. */
const BEHIND_MS = 2_500;

const BUSY_SHARE = 0.05;
const BUSY_MS = 3_000;
const LATE_SHARE = 0.02;
const LATE_MS = 30;

/** Tables with rows that the simulation reads. */
export type RowTable = 'events' | 'sessions';

/** The rows of one insert, which are visible together. */
interface LandedPart {
  readonly table: RowTable;
  rows: readonly StoredRow[];
  readonly landedMs: number;
}

/** An insert that is asked for, as the laws judge it. */
export interface AskedInsert {
  readonly table: RowTable;
  readonly actor: Actor | undefined;
  readonly rows: readonly StoredRow[];
  /** The hash of the rows' bytes. */
  readonly digest: string;
}

/** An insert that is under way in the store. */
interface RunningInsert {
  readonly part: LandedPart;
  readonly token: string;
  cancel: () => void;
}

const away = () => new StoreError('the store does not answer', { kind: 'retryable', failure: 'unreachable' });

/**
 * The store, as `infra/store/store.ts` describes it: an insert is one part, which lands as a whole; the store drops an insert
 * whose token it knows, and a store that is killed may know a token without its rows, or have rows without their token. The
 * decisions of `insertOnce` are our own code. Statements are answered from the rows (`statements.ts`).
 */
export class SimulatedStore extends Store {
  readonly #network: Network;
  readonly #onInsert: (insert: AskedInsert) => void;
  #parts: LandedPart[] = [];
  readonly #tokens = new Map<string, number>();
  readonly #running = new Set<RunningInsert>();
  #downUntilMs = 0;
  #killsInInsert: number | undefined;
  /** Its connections end with a life. */
  #lives = 0;
  /** An insert that lands when the next owner has just read how far the store is. */
  #late: (() => void) | undefined;
  /** Called with an actor that dies while its insert of sessions is on its way; undefined while none does. */
  onLateInsert: ((actor: Actor) => void) | undefined;
  /** True if reads go to a replica that lags. */
  isStale = false;

  constructor(network: Network, onInsert: (insert: AskedInsert) => void) {
    super({ url: 'http://127.0.0.1:1', database: 'simulation', requestTimeoutMs: TIMEOUT_MS });
    this.#network = network;
    this.#onInsert = onInsert;
  }

  /** All rows of a table now. */
  rows(table: RowTable): readonly StoredRow[] {
    return this.#parts.filter((part) => part.table === table).flatMap((part) => part.rows);
  }

  override async query<Row>(sql: string, parameters: StoreParameters = {}): Promise<Row[]> {
    return this.#ask(sql, () => {
      const rows = answerRows(this.#seen(), sql, parameters) as Row[];
      if (sql.includes('max(flushNumber)')) this.#landLate();
      return rows;
    });
  }

  override async *bytes(sql: string, parameters: StoreParameters = {}): AsyncGenerator<Buffer, void, void> {
    const whole = await this.#ask(sql, () => answerBytes(this.#seen(), sql, parameters));
    const half = Math.floor(whole.length / 2);
    for (const piece of [whole.subarray(0, half), whole.subarray(half)]) {
      if (piece.length === 0) continue;
      yield piece;
      await this.#network.time.wait(this.#network.delayMs(), 'rest of an answer');
    }
  }

  override async insertRowBinary(
    table: string,
    _columns: readonly string[],
    chunks: readonly Uint8Array[],
    key: string | undefined,
  ): Promise<void> {
    const { time } = this.#network;
    if (table !== 'events' && table !== 'sessions') {
      await this.#ask(`insert into ${table}`, () => undefined);
      return;
    }
    if (time.actor?.isAlive === false) return new Promise(() => {});
    const bytes = Buffer.concat(chunks);
    const rows = readRows(table, bytes);
    const digest = createHash('sha256').update(bytes).digest('hex');
    const { actor } = time;
    this.#onInsert({ table, actor, rows, digest });
    await this.#ask(`insert into ${table} ${key}`, () =>
      this.#insert({ table, rows, actor }, `${table} ${key}`),
    );
  }

  override async command(sql: string): Promise<void> {
    throw new Error(`the simulated store does not run ${sql}`);
  }

  /** Kills the store; it is back after a while. */
  kill(downMs: number): void {
    const { time } = this.#network;
    this.#downUntilMs = Math.max(this.#downUntilMs, time.nowMs + downMs);
    this.#lives += 1;
    const begun = new Set<string>();
    for (const running of this.#running) {
      running.cancel();
      const [hasRows, hasToken] = [time.random.chance(0.5), time.random.chance(0.5)];
      // The store finishes only the first of several concurrent inserts with one token.
      if (this.#tokens.has(running.token) || begun.has(running.token)) continue;
      begun.add(running.token);
      if (hasRows) this.#parts.push(running.part);
      if (hasToken) this.#tokens.set(running.token, time.nowMs);
      if (hasRows !== hasToken)
        this.#network.count(hasRows ? 'rows without their token' : 'tokens without their rows');
    }
    this.#running.clear();
    // Its fate is decided together with the others.
    this.#late = undefined;
    for (const [token, atMs] of this.#tokens) {
      if (time.nowMs - atMs > UNSYNCED_MS || time.random.chance(0.5)) continue;
      this.#tokens.delete(token);
      this.#network.count('rows without their token');
    }
  }

  /** Kills the store in the middle of the next insert. */
  killInInsert(downMs: number): void {
    this.#killsInInsert = downMs;
  }

  /** Keeps the store unavailable without harming it. */
  keepAway(ms: number): void {
    this.#downUntilMs = Math.max(this.#downUntilMs, this.#network.time.nowMs + ms);
  }

  /** Merges the sessions: pairs of rows that cancel each other are gone. */
  merge(): void {
    const rows = this.rows('sessions');
    const stateOf = ({ values }: StoredRow) => `${values.projectId} ${values.id} ${values.version}`;
    const count = (sign: number) => {
      const counts = new Map<string, number>();
      for (const row of rows)
        if (row.values.sign === sign) counts.set(stateOf(row), (counts.get(stateOf(row)) ?? 0) + 1);
      return counts;
    };
    const bySign = { true: count(1), false: count(-1) };
    const kept = rows.filter((row) => {
      const [own, other] = row.values.sign === 1 ? [bySign.true, bySign.false] : [bySign.false, bySign.true];
      return (own.get(stateOf(row)) ?? 0) > (other.get(stateOf(row)) ?? 0);
    });
    if (kept.length < rows.length) this.#network.count('merges');
    const others = this.#parts.filter(({ table }) => table !== 'sessions');
    this.#parts = [...others, { table: 'sessions', rows: kept, landedMs: this.#network.time.nowMs }];
  }

  /** A call without changes of its own. */
  #ask<Result>(what: string, act: () => Result | Promise<Result>): Promise<Result> {
    const { time } = this.#network;
    const life = this.#lives;
    const name = what.replace(/\s+/g, ' ').slice(0, 60);
    return this.#network.call({
      what: name,
      act: () => {
        if (life !== this.#lives || time.nowMs < this.#downUntilMs) throw away();
        return act();
      },
      silence: away,
      timeoutMs: TIMEOUT_MS,
      server: 'store',
    });
  }

  /** Lands after a while, unless the store is killed meanwhile. */
  #insert({ table, rows, actor }: Omit<AskedInsert, 'digest'>, token: string): Promise<void> {
    const { time } = this.#network;
    return new Promise((resolve, reject) => {
      const running: RunningInsert = {
        part: { table, rows, landedMs: time.nowMs },
        token,
        cancel: () => {
          stop();
          reject(away());
        },
      };
      this.#running.add(running);
      const land = () => {
        this.#running.delete(running);
        if (this.#tokens.has(token)) this.#network.count('inserts dropped by their token');
        else this.#parts.push({ table, rows, landedMs: time.nowMs });
        this.#tokens.set(token, time.nowMs);
        resolve();
      };
      let stop = () => {};
      if (this.#isLate(table, actor)) {
        this.#late = () => {
          stop = time.plan(time.random.next() * LATE_MS, undefined, `lands late ${token}`, land);
        };
      } else stop = time.plan(this.#landsAfterMs(), undefined, `lands ${token}`, land);
      const downMs = this.#killsInInsert;
      if (downMs === undefined) return;
      this.#killsInInsert = undefined;
      time.plan(0, undefined, 'the store dies in an insert', () => this.kill(downMs));
    });
  }

  /** True if the owner dies now, and its insert lands while the next owner restores. */
  #isLate(table: RowTable, actor: Actor | undefined): boolean {
    const { time } = this.#network;
    if (this.onLateInsert === undefined || table !== 'sessions' || this.#late !== undefined) return false;
    if (actor?.isAlive !== true || !time.random.chance(LATE_SHARE)) return false;
    this.#network.count('inserts that land during the next restore');
    this.onLateInsert(actor);
    return true;
  }

  #landLate(): void {
    const late = this.#late;
    this.#late = undefined;
    late?.();
  }

  /** A busy store takes long for an insert, also when its sender is dead or fenced by then. */
  #landsAfterMs(): number {
    const { time, weather } = this.#network;
    if (weather.slow === 0 || !time.random.chance(BUSY_SHARE)) return this.#network.delayMs();
    this.#network.count('inserts that take long');
    return time.random.next() * BUSY_MS;
  }

  #seen(): StoredTables {
    const untilMs = this.isStale ? this.#network.time.nowMs - BEHIND_MS : Number.POSITIVE_INFINITY;
    const of = (table: RowTable) =>
      this.#parts
        .filter((part) => part.table === table && part.landedMs <= untilMs)
        .flatMap((part) => part.rows);
    return { events: of('events'), sessions: of('sessions') };
  }
}
