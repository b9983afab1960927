import { senderAddress } from '../../infra/network/client-address.ts';
import type { Enrichment } from '../enrich/enrichment.ts';
import { areSame } from '../enrich/user-agent-hints.ts';
import type { Environment } from '../event.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { Caller } from './caller.ts';
import type { Salts } from './salt.ts';
import type { DeviceIds, Devices, RecentVisitor } from './visitor.ts';

/** What a body says of whose request it is. Texts; empty when absent. */
export interface VisitorClaims {
  readonly deviceId: string;
  readonly address: string;
}

/** What turns an address into a device and a place. */
export interface VisitorDeps {
  readonly salts: Salts;
  readonly deviceIds: DeviceIds;
  readonly enrichment: Enrichment;
}

/**
 * The visitor behind one request. This object lives as long as the request is being judged, and is the last place
 * where the address stands beside anything else.
 */
export class RequestVisitor {
  readonly #parts: VisitorDeps;
  readonly #caller: Caller;
  readonly #facts: RequestFacts;
  readonly #claims: VisitorClaims;
  #recent: RecentVisitor | undefined;
  /** A program of the site's own, as opposed to a browser or a program that passes a visitor's request on. */
  readonly isServerSide: boolean;
  /** Empty for a program that names nobody: its own address says nothing of a visitor. */
  readonly address: string;

  constructor(parts: VisitorDeps, caller: Caller, facts: RequestFacts, claims: VisitorClaims) {
    this.#parts = parts;
    this.#caller = caller;
    this.#facts = facts;
    this.#claims = claims;
    this.isServerSide = caller.verified && !facts.userAgent.includes('Mozilla/');
    const claimed = claimedAddresses(caller, facts, claims.address);
    const isNobody = this.isServerSide && claimed === NOTHING_CLAIMED;
    this.address = isNobody ? '' : senderAddress(facts.claims, claimed);
  }

  /** The devices that the request may belong to; see `SessionRequest`. Undefined while the salt of the day is not there. */
  devices(nowMs: number): Devices | undefined {
    const { deviceId } = this.#claims;
    if (deviceId !== '') return { deviceId, earlierDeviceId: '' };
    if (this.isServerSide) return NO_DEVICE;
    const salts = this.#parts.salts.at(nowMs);
    if (salts === undefined) return undefined;
    const siteId = this.#caller.site.storedId;
    const trace = { siteId, address: this.address, userAgent: this.#facts.userAgent };
    this.#recent = this.#parts.deviceIds.of(salts, trace, nowMs);
    return this.#recent;
  }

  /** Where and with what. */
  environment(): Environment {
    const { enrichment } = this.#parts;
    if (this.isServerSide) return enrichment.serverEnvironment(this.address);
    const { userAgent, hints } = this.#facts;
    const recent = this.#recent;
    if (recent?.environment !== undefined && areSame(recent.hints, hints)) return recent.environment;
    const environment = enrichment.environment(userAgent, hints, this.address);
    if (recent !== undefined) {
      recent.environment = environment;
      recent.hints = hints;
    }
    return environment;
  }
}

const NO_DEVICE: Devices = { deviceId: '', earlierDeviceId: '' };
const NOTHING_CLAIMED: readonly string[] = [];

/** Addresses that the caller names for the visitor, as far as it may be believed. */
function claimedAddresses(caller: Caller, facts: RequestFacts, named: string): readonly string[] {
  const { clientAddress } = facts.client;
  if (caller.verified) return clientAddress === '' && named === '' ? NOTHING_CLAIMED : [clientAddress, named];
  return clientAddress !== '' && facts.claims.peerTrusted ? [clientAddress] : NOTHING_CLAIMED;
}
