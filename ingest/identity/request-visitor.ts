import { senderAddress } from '../../infra/network/client-address.ts';
import type { Enrichment } from '../enrich/enrichment.ts';
import { areSameLocales, type Locale } from '../enrich/locale.ts';
import { areSame } from '../enrich/user-agent-hints.ts';
import type { Environment } from '../event.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { Caller } from './caller.ts';
import type { Salts } from './salt.ts';
import type { DeviceIds, Devices, RecentVisitor } from './visitor.ts';

/** What a body says about the visitor. Texts; empty when absent. */
export interface VisitorClaims {
  readonly deviceId: string;
  readonly address: string;
}

/** What derives a device and a location from an address. */
export interface VisitorDeps {
  readonly salts: Salts;
  readonly deviceIds: DeviceIds;
  readonly enrichment: Enrichment;
}

/**
 * The visitor behind one request. It lives as long as the request is processed, and is the last object that has the
 * address together with other facts of the request.
 */
export class RequestVisitor {
  readonly #deps: VisitorDeps;
  readonly #caller: Caller;
  readonly #facts: RequestFacts;
  readonly #claims: VisitorClaims;
  #recent: RecentVisitor | undefined;
  /**
   * The request comes from the site's own program, and not from a browser or from a program that forwards a visitor's
   * request.
   */
  readonly isServerSide: boolean;
  /** Empty for a program that names no visitor: its own address says nothing about one. */
  readonly address: string;

  constructor(deps: VisitorDeps, caller: Caller, facts: RequestFacts, claims: VisitorClaims) {
    this.#deps = deps;
    this.#caller = caller;
    this.#facts = facts;
    this.#claims = claims;
    this.isServerSide = caller.verified && !facts.userAgent.includes('Mozilla/');
    const claimed = claimedAddresses(caller, facts, claims.address);
    const namesNoVisitor = this.isServerSide && claimed === NOTHING_CLAIMED;
    this.address = namesNoVisitor ? '' : senderAddress(facts.claims, claimed);
  }

  /**
   * The devices that the request may belong to; see `SessionRequest`. Undefined while the salt of the day is not
   * available.
   */
  devices(nowMs: number): Devices | undefined {
    const { deviceId } = this.#claims;
    if (deviceId !== '') return { deviceId, earlierDeviceId: '' };
    if (this.isServerSide) return NO_DEVICE;
    const salts = this.#deps.salts.at(nowMs);
    if (salts === undefined) return undefined;
    const siteId = this.#caller.site.storedId;
    const trace = { siteId, address: this.address, userAgent: this.#facts.userAgent };
    this.#recent = this.#deps.deviceIds.of(salts, trace, nowMs);
    return this.#recent;
  }

  /** Location, device and locale of the request, whose body claims the locale. */
  environment(claims: Locale): Environment {
    const { enrichment } = this.#deps;
    if (this.isServerSide)
      return enrichment.serverEnvironment(this.address, enrichment.locale(claims, NO_HEADER));
    const { userAgent, acceptLanguage, hints } = this.#facts;
    const locale = enrichment.locale(claims, acceptLanguage);
    const recent = this.#recent;
    if (
      recent?.environment !== undefined &&
      areSame(recent.hints, hints) &&
      areSameLocales(recent.environment, locale)
    )
      return recent.environment;
    const environment = enrichment.environment(userAgent, hints, this.address, locale);
    if (recent !== undefined) {
      recent.environment = environment;
      recent.hints = hints;
    }
    return environment;
  }
}

/** The languages of a server-side program are not those of a visitor. */
const NO_HEADER = '';
const NO_DEVICE: Devices = { deviceId: '', earlierDeviceId: '' };
const NOTHING_CLAIMED: readonly string[] = [];

/** Addresses that the caller claims for the visitor, as far as it may be believed. */
function claimedAddresses(caller: Caller, facts: RequestFacts, named: string): readonly string[] {
  const { clientAddress } = facts.client;
  if (caller.verified) return clientAddress === '' && named === '' ? NOTHING_CLAIMED : [clientAddress, named];
  return clientAddress !== '' && facts.claims.peerTrusted ? [clientAddress] : NOTHING_CLAIMED;
}
