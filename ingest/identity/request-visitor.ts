import { senderAddress } from '../../infra/network/client-address.ts';
import type { AgentClaims, Enrichment } from '../enrich/enrichment.ts';
import { areSameLocales, type Locale } from '../enrich/locale.ts';
import { isSameClaim, NO_SOFTWARE_CLAIM, type SoftwareClaim } from '../enrich/software-claim.ts';
import { areSame, lengthOf, NO_CLIENT_HINTS } from '../enrich/user-agent-hints.ts';
import type { DeviceId, Environment } from '../event.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { Caller } from './caller.ts';
import type { Salts } from './salt.ts';
import { type DeviceIds, type Devices, REMEMBERED_TEXT_MAX, type RecentVisitor } from './visitor.ts';

/** Claims of a body about the visitor. Texts; empty when absent. */
export interface VisitorClaims {
  readonly deviceId: DeviceId;
  readonly address: string;
  /** Replaces the header of a request with a secret. */
  readonly userAgent: string;
  readonly software: SoftwareClaim;
}

/** The claims of a body that makes none. */
export const NO_VISITOR_CLAIMS: VisitorClaims = {
  deviceId: '',
  address: '',
  userAgent: '',
  software: NO_SOFTWARE_CLAIM,
};

/** Dependencies that derive a device and a location from an address. */
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
  readonly #claims: VisitorClaims;
  readonly #agent: AgentClaims;
  readonly #acceptLanguage: string;
  #recent: RecentVisitor | undefined;
  /**
   * The request comes from the site's own program, not from a browser, an app or a program that forwards a visitor's request: it has a
   * secret, its agent is no visitor's, and it claims no device, or claims to be a server.
   */
  readonly isServerSide: boolean;
  /** Empty for a program that names no visitor: its own address says nothing about one. */
  readonly address: string;

  constructor(deps: VisitorDeps, caller: Caller, facts: RequestFacts, claims: VisitorClaims) {
    this.#deps = deps;
    this.#caller = caller;
    this.#claims = claims;
    this.#agent = agentOf(caller, facts, claims);
    // A program that names the visitor's agent sends no header of the visitor.
    this.#acceptLanguage = this.#agent.hints === facts.hints ? facts.acceptLanguage : NO_HEADER;
    this.isServerSide = caller.verified && isServer(deps.enrichment, this.#agent);
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
    return this.derivedDevices(nowMs);
  }

  /**
   * The devices that follow from the address and the agent of the request, whatever id its body claims. Undefined while
   * the salt of the day is not available.
   */
  derivedDevices(nowMs: number): Devices | undefined {
    const salts = this.#deps.salts.at(nowMs);
    if (salts === undefined) return undefined;
    const siteId = this.#caller.site.storedId;
    const trace = { siteId, address: this.address, userAgent: this.#agent.userAgent };
    this.#recent = this.#deps.deviceIds.of(salts, trace, nowMs);
    return this.#recent;
  }

  /** Location, device and locale of the request, whose body claims the locale. */
  environment(claims: Locale): Environment {
    const { enrichment } = this.#deps;
    if (this.isServerSide) {
      const locale = enrichment.locale(claims, NO_HEADER);
      return enrichment.serverEnvironment(this.address, locale, this.#claims.deviceId !== '');
    }
    const { hints, claim } = this.#agent;
    const locale = enrichment.locale(claims, this.#acceptLanguage);
    const recent = this.#recent;
    if (
      recent?.environment !== undefined &&
      areSame(recent.hints, hints) &&
      isSameClaim(recent.claim, claim) &&
      areSameLocales(recent.environment, locale)
    )
      return recent.environment;
    const environment = enrichment.environment(this.#agent, this.address, locale);
    if (recent !== undefined && lengthOf(hints) <= REMEMBERED_TEXT_MAX) {
      recent.environment = environment;
      recent.hints = hints;
      recent.claim = claim;
    }
    return environment;
  }
}

/** A server-side program's languages are not the visitor's. */
const NO_HEADER = '';
const NO_DEVICE: Devices = { deviceId: '', earlierDeviceId: '' };
const NOTHING_CLAIMED: readonly string[] = [];

/** The agent of the visitor. Without a secret only the header counts, as bots are recognized by it. */
function agentOf(caller: Caller, facts: RequestFacts, { userAgent, software }: VisitorClaims): AgentClaims {
  const isNamed = caller.verified && userAgent !== '';
  if (!isNamed) return { userAgent: facts.userAgent, hints: facts.hints, claim: software };
  // The hints describe the program that sends the request.
  return { userAgent, hints: NO_CLIENT_HINTS, claim: software };
}

function isServer(enrichment: Enrichment, { userAgent, hints, claim }: AgentClaims): boolean {
  if (claim !== NO_SOFTWARE_CLAIM) return claim.device === 'server';
  return !enrichment.isVisitors(userAgent, hints);
}

/** Addresses that the caller claims for the visitor, as far as it may be believed. */
function claimedAddresses(caller: Caller, facts: RequestFacts, named: string): readonly string[] {
  // A trusted proxy passes a visitor's own headers on. Only `CLIENT_IP_HEADER` counts among them, in `facts.claims`.
  if (!caller.verified) return NOTHING_CLAIMED;
  const { clientAddress } = facts.client;
  return clientAddress === '' && named === '' ? NOTHING_CLAIMED : [clientAddress, named];
}
