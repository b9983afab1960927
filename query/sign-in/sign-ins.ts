import { randomBytes } from 'node:crypto';
import { CONTROL_BUCKET } from '../../infra/accounts/accounts.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Entry, encodeJson, followBucket, Mirror } from '../../infra/bus/mirror.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Logger } from '../../infra/log.ts';
import type { Metrics } from '../../infra/metrics.ts';
import type { Caller } from '../http/caller.ts';
import type { Holders } from './holders.ts';
import {
  decodeSignIn,
  endsAtMs,
  type Holder,
  hashOf,
  newToken,
  nextToken,
  RENEW_AFTER_MS,
  readToken,
  roleOf,
  SIGN_IN_PREFIX,
  type SignIn,
  type SignInToken,
  signInSchema,
  textOf,
} from './sign-in-record.ts';

/** Sign-ins of one client or user. The next one ends the oldest. */
export const SIGN_INS_OF_HOLDER_MAX = 20;
/** Sign-ins of all holders of a team, of half a kilobyte each. The next one ends the oldest. */
export const SIGN_INS_OF_TEAM_MAX = 10_000;
/** Questions to the bus about tokens that this process does not know; further ones are wrong without being asked about. */
const LOOK_UPS_MAX = 100;

export interface SignInsOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly holders: Holders;
  readonly ofTeamMax?: number;
}

/** A token that was accepted. */
export interface UsedToken {
  readonly caller: Caller;
  /** The token to use from now on, if it is another one. */
  readonly renewed: string | undefined;
}

/**
 * The sign-ins of all processes, mirrored. So a token costs no I/O, and one that ends in a process ends in the others as
 * soon as the record arrives. A sign-in that is over is rejected by its own times and its holder, whether its record is
 * still stored or not; the sweep only tidies up.
 */
export class SignIns {
  readonly #options: SignInsOptions;
  readonly #bucket: KeyedBytes;
  readonly #mirror = new Mirror<SignIn>(SIGN_IN_PREFIX, signInSchema);
  /** Sign-ins whose token is being replaced by this process. */
  readonly #renewing = new Set<string>();
  #lookUps = 0;
  #stopFollowing: () => void = () => {};

  private constructor(options: SignInsOptions, bucket: KeyedBytes) {
    this.#options = options;
    this.#bucket = bucket;
    options.metrics.gaugeOf('sign_ins', 'sign-ins that are stored', {}, () => this.stored);
  }

  /** Resolves once every stored sign-in is known. */
  static async open(options: SignInsOptions): Promise<SignIns> {
    const bucket = await options.bus.keyed(CONTROL_BUCKET);
    const signIns = new SignIns(options, bucket);
    signIns.#stopFollowing = await followBucket(bucket, [signIns.#mirror], options.log);
    return signIns;
  }

  /** Number of stored sign-ins. */
  get stored(): number {
    return [...this.#mirror.entries()].length;
  }

  /** Signs a holder in; returns the token. */
  async begin(holder: Holder, fingerprint: string): Promise<string> {
    const token = newToken();
    const at = this.#nowText();
    const signIn: SignIn = {
      id: token.id,
      holder,
      fingerprint,
      startedAt: at,
      renewedAt: at,
      hash: hashOf(token.secret),
      before: null,
    };
    await this.#endOldest(holder, SIGN_INS_OF_HOLDER_MAX - 1);
    await this.#endOldestOfTeam(holder);
    await this.#bucket.put(keyOf(signIn), encodeJson(signIn), 0);
    return textOf(token);
  }

  /** Returns the owner of a token; undefined if it is wrong, replaced or expired. `mayLookUp`: see `CookieCallers`. */
  async use(text: string, mayLookUp: boolean): Promise<UsedToken | undefined> {
    const token = readToken(text);
    if (token === undefined) return undefined;
    const nowMs = this.#options.clock.nowMs();
    let entry = this.#mirror.entry(keyOf(token));
    let role = entry === undefined ? undefined : roleOf(entry.value, token, nowMs);
    if (role === undefined && mayLookUp) {
      // Another process may have made the token a moment ago.
      entry = await this.#lookUp(token);
      role = entry === undefined ? undefined : roleOf(entry.value, token, nowMs);
    }
    if (entry === undefined || role === undefined) return undefined;
    if (this.#callerOf(entry.value) === undefined) return undefined;
    const renewed = await this.#renewed(entry, token, role);
    const caller = this.#callerOf(renewed?.signIn ?? entry.value);
    return caller === undefined ? undefined : { caller, renewed: renewed?.text };
  }

  /** The caller of a sign-in that was accepted, as it is now; undefined once it is over. */
  present(id: string): Caller | undefined {
    const signIn = this.#mirror.get(SIGN_IN_PREFIX + id);
    return signIn === undefined ? undefined : this.#callerOf(signIn);
  }

  /** Ends the sign-in of a token in every process, if the token is right. */
  async end(text: string): Promise<void> {
    const token = readToken(text);
    if (token === undefined) return;
    const entry = this.#mirror.entry(keyOf(token)) ?? (await this.#lookUp(token));
    if (entry === undefined || roleOf(entry.value, token, this.#options.clock.nowMs()) === undefined) return;
    await this.#remove(entry.key);
  }

  /** Removes expired sign-ins. Every process does. */
  async sweep(): Promise<void> {
    const holders = new Map<string, Holder>();
    for (const { key, value } of [...this.#mirror.entries()]) {
      if (this.#isOver(value)) await this.#remove(key);
      else holders.set(`${value.holder.kind}.${value.holder.id}`, value.holder);
    }
    for (const holder of holders.values()) await this.#endOldest(holder, SIGN_INS_OF_HOLDER_MAX);
  }

  stop(): void {
    this.#stopFollowing();
  }

  #callerOf(signIn: SignIn): Caller | undefined {
    const expiresAtMs = endsAtMs(signIn);
    if (expiresAtMs <= this.#options.clock.nowMs()) return undefined;
    const { id, holder, fingerprint } = signIn;
    return this.#options.holders.callerOf(holder, fingerprint, { id, expiresAtMs });
  }

  /**
   * True if a sign-in can be removed. If its holder is unknown, it must also be old: this process may not have received the
   * holder's record yet.
   */
  #isOver(signIn: SignIn): boolean {
    const nowMs = this.#options.clock.nowMs();
    if (endsAtMs(signIn) <= nowMs) return true;
    const isOld = Date.parse(signIn.renewedAt) + RENEW_AFTER_MS < nowMs;
    return isOld && this.#options.holders.fingerprintOf(signIn.holder) !== signIn.fingerprint;
  }

  /**
   * Returns the token that replaces an accepted one; undefined while it may stay. A request with the previous token gets the
   * present one again, so a lost answer does not lose the sign-in.
   */
  async #renewed(
    { value, revision }: Entry<SignIn>,
    token: SignInToken,
    role: 'present' | 'before',
  ): Promise<{ readonly text: string; readonly signIn: SignIn } | undefined> {
    if (role === 'before' && value.before !== null)
      return { text: textOf(nextToken(token, value.before.salt)), signIn: value };
    const isDue = Date.parse(value.renewedAt) + RENEW_AFTER_MS <= this.#options.clock.nowMs();
    if (!isDue || this.#renewing.has(value.id)) return undefined;
    this.#renewing.add(value.id);
    try {
      const salt = randomBytes(32).toString('base64url');
      const next = nextToken(token, salt);
      const before = { hash: value.hash, salt };
      const signIn = { ...value, renewedAt: this.#nowText(), hash: hashOf(next.secret), before };
      await this.#bucket.put(keyOf(value), encodeJson(signIn), revision);
      return { text: textOf(next), signIn };
    } catch (error) {
      // Another process was faster, or the bus is unavailable. The request's token is still accepted.
      if (error instanceof BusError) return undefined;
      throw error;
    } finally {
      this.#renewing.delete(value.id);
    }
  }

  async #endOldest({ kind, id }: Holder, max: number): Promise<void> {
    await this.#endBeyond(max, (holder) => holder.id === id && holder.kind === kind);
  }

  async #endOldestOfTeam(holder: Holder): Promise<void> {
    const { holders, ofTeamMax = SIGN_INS_OF_TEAM_MAX } = this.#options;
    const teamId = holders.teamOf(holder);
    if (teamId !== undefined)
      await this.#endBeyond(ofTeamMax - 1, (other) => holders.teamOf(other) === teamId);
  }

  /** Ends the oldest sign-ins of these holders until `max` are left. */
  async #endBeyond(max: number, isOwn: (holder: Holder) => boolean): Promise<void> {
    const own = [...this.#mirror.entries()].filter(({ value }) => isOwn(value.holder));
    if (own.length <= max) return;
    own.sort((a, b) => Date.parse(b.value.startedAt) - Date.parse(a.value.startedAt));
    for (const { key } of own.slice(max)) await this.#remove(key);
  }

  /** Not taken into the mirror, where a late answer could bring back a removed record. */
  async #lookUp(token: SignInToken): Promise<Entry<SignIn> | undefined> {
    if (this.#lookUps >= LOOK_UPS_MAX) return undefined;
    this.#lookUps += 1;
    try {
      const key = keyOf(token);
      const stored = await this.#bucket.get(key);
      if (stored?.bytes === undefined) return undefined;
      const value = decodeSignIn(stored.bytes);
      return value === undefined ? undefined : { key, value, revision: stored.revision };
    } finally {
      this.#lookUps -= 1;
    }
  }

  async #remove(key: string): Promise<void> {
    await this.#bucket.remove(key);
    this.#mirror.take({ key, bytes: undefined, revision: 0 });
  }

  #nowText(): string {
    return new Date(this.#options.clock.nowMs()).toISOString();
  }
}

function keyOf({ id }: Pick<SignIn, 'id'>): string {
  return SIGN_IN_PREFIX + id;
}
