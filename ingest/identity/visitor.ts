import { createHash } from 'node:crypto';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { NO_SOFTWARE_CLAIM, type SoftwareClaim } from '../enrich/software-claim.ts';
import { type ClientHints, NO_CLIENT_HINTS } from '../enrich/user-agent-hints.ts';
import type { DeviceId, Environment } from '../event.ts';
import type { DaySalts } from './salt.ts';

/** Maximum number of devices in each of the two generations, unless the owner sets another. */
export const DEVICES_MAX = 50_000;
const EVICT_MS = 60_000;
/** Longer user agents and hints are not remembered. Browsers send 100 to 300 characters. */
export const REMEMBERED_TEXT_MAX = 512;

/** The ingredients of a device id, apart from the salt. */
export interface VisitorTrace {
  readonly siteId: StoredId;
  readonly address: string;
  readonly userAgent: string;
}

/** A visitor's device ids under today's salt and under yesterday's; the latter is empty on the very first day. */
export interface Devices {
  readonly deviceId: DeviceId;
  readonly earlierDeviceId: DeviceId;
}

/** A visitor of the last minutes, with the environment that was derived for its last request. */
export interface RecentVisitor extends Devices {
  /** Location, device and locale; the device as derived from `hints` and `claim`. */
  environment: Environment | undefined;
  hints: ClientHints;
  claim: SoftwareClaim;
}

/**
 * 128 bits of a keyed hash, as 32 hexadecimal digits. The salt comes first and has a fixed length. The hash is cut in
 * half, so it cannot be extended to the hash of another message.
 */
export function deviceIdOf(salt: Uint8Array, { siteId, address, userAgent }: VisitorTrace): string {
  const hash = createHash('sha256').update(salt).update(`${siteId}\n${address}\n${userAgent}`);
  return hash.digest('hex').slice(0, 32);
}

/** The visitors of one site with one user agent, by address. */
type Visitors = Map<string, RecentVisitor>;
/** By site, then by user agent. */
type Generation = Map<string, Map<string, Visitors>>;

/**
 * Device ids of the visitors of the last minutes. Two generations of at most `devicesMax`: the older one is dropped each
 * minute, so an address is forgotten within two minutes after its last request. Only this and `LocationLookup` remember addresses.
 * A visitor with a long user agent is derived for each request, so that an entry takes at most about 2 KB.
 *
 * Maps within maps: one map by the three texts in a row would make a text of 150 characters for every request, and keep
 * each user agent once for every visitor who has it.
 */
export class DeviceIds {
  readonly #devicesMax: number;
  #young: Generation = new Map();
  #old: Generation = new Map();
  #youngSize = 0;
  #day = -1;
  #rotateAtMs = 0;

  constructor(devicesMax = DEVICES_MAX) {
    this.#devicesMax = devicesMax;
  }

  /** The ids of one visitor; `nowMs` only decides when to rotate. */
  of(salts: DaySalts, trace: VisitorTrace, nowMs: number): RecentVisitor {
    if (salts.day !== this.#day) this.#evictAll(salts.day);
    if (nowMs >= this.#rotateAtMs || this.#youngSize >= this.#devicesMax) this.rotate(nowMs);
    const { siteId, userAgent, address } = trace;
    const visitors = this.#young.get(siteId)?.get(userAgent);
    const known = visitors?.get(address);
    if (known !== undefined) return known;
    const visitor = this.#old.get(siteId)?.get(userAgent)?.get(address) ?? {
      deviceId: deviceIdOf(salts.today, trace),
      earlierDeviceId: salts.yesterday === undefined ? '' : deviceIdOf(salts.yesterday, trace),
      environment: undefined,
      hints: NO_CLIENT_HINTS,
      claim: NO_SOFTWARE_CLAIM,
    };
    if (userAgent.length <= REMEMBERED_TEXT_MAX) {
      (visitors ?? this.#beginVisitors(siteId, userAgent)).set(address, visitor);
      this.#youngSize += 1;
    }
    return visitor;
  }

  /** Forgets visitors without a request since the last rotation. The owner calls it on a timer, for times without requests. */
  rotate(nowMs: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngSize = 0;
    this.#rotateAtMs = nowMs + EVICT_MS;
  }

  #beginVisitors(siteId: StoredId, userAgent: string): Visitors {
    let byAgent = this.#young.get(siteId);
    if (byAgent === undefined) {
      byAgent = new Map();
      this.#young.set(siteId, byAgent);
    }
    const visitors: Visitors = new Map();
    byAgent.set(userAgent, visitors);
    return visitors;
  }

  #evictAll(day: number): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#youngSize = 0;
    this.#day = day;
  }
}
