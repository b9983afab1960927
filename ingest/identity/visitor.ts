import { createHash } from 'node:crypto';
import { type ClientHints, NO_CLIENT_HINTS } from '../enrich/user-agent-hints.ts';
import type { Environment } from '../event.ts';
import type { DaySalts } from './salt.ts';

const DEVICES_MAX = 50_000;
const EVICT_MS = 60_000;

/** Who asks: all that a device id is made of but the salt. */
export interface VisitorTrace {
  readonly siteId: string;
  readonly address: string;
  readonly userAgent: string;
}

/** A visitor's device ids under today's salt and under yesterday's; the latter is empty on the first day of all. */
export interface Devices {
  readonly deviceId: string;
  readonly earlierDeviceId: string;
}

/** A visitor of the last minutes, with what else was found out and need not be found out again. */
export interface RecentVisitor extends Devices {
  /** Where and with what, as far as the hints go that came along. */
  environment: Environment | undefined;
  hints: ClientHints;
}

/**
 * 128 bits of a keyed hash, as 32 hexadecimal digits. The salt goes first and has a fixed length; the hash is cut to
 * half, so what is left of it cannot be extended to another message's.
 */
export function deviceIdOf(salt: Uint8Array, { siteId, address, userAgent }: VisitorTrace): string {
  const hash = createHash('sha256').update(salt).update(`${siteId}\n${address}\n${userAgent}`);
  return hash.digest('hex').slice(0, 32);
}

/**
 * Device ids of the visitors of the last minutes. Two generations of at most `DEVICES_MAX`: the older one is thrown
 * away each minute, so an address is forgotten within two minutes after its last request. This is the last code that
 * sees an address.
 */
export class DeviceIds {
  #young = new Map<string, RecentVisitor>();
  #old = new Map<string, RecentVisitor>();
  #day = -1;
  #turnAtMs = 0;

  /** One visitor; `nowMs` only moves the forgetting on. */
  of(salts: DaySalts, trace: VisitorTrace, nowMs: number): RecentVisitor {
    if (salts.day !== this.#day) this.#forgetAll(salts.day);
    if (nowMs >= this.#turnAtMs || this.#young.size >= DEVICES_MAX) this.turn(nowMs);
    const key = `${trace.address}\n${trace.siteId}\n${trace.userAgent}`;
    const known = this.#young.get(key);
    if (known !== undefined) return known;
    const visitor = this.#old.get(key) ?? {
      deviceId: deviceIdOf(salts.today, trace),
      earlierDeviceId: salts.yesterday === undefined ? '' : deviceIdOf(salts.yesterday, trace),
      environment: undefined,
      hints: NO_CLIENT_HINTS,
    };
    this.#young.set(key, visitor);
    return visitor;
  }

  /** Forgets who was silent for a generation. The owner calls it on a timer too, for the time without requests. */
  turn(nowMs: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#turnAtMs = nowMs + EVICT_MS;
  }

  #forgetAll(day: number): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#day = day;
  }
}
