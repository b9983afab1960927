import { BlockList } from 'node:net';
import type { Clock } from '../clock.ts';
import { HOUR_MS } from '../durations.ts';
import type { Logger } from '../log.ts';
import type { Counter, Metrics } from '../metrics.ts';
import { isPublic } from './client-address.ts';

/** The kind of a peer's address. The address itself appears in no log and no answer. */
const PEER_KINDS = ['loopback', 'private', 'public'] as const;
type PeerKind = (typeof PEER_KINDS)[number];

/** Something odd that the operator should look at and that makes nothing unready. Times in ms since 1970. */
export interface HealthWarning {
  /** The setting that resolves it. */
  readonly setting: string;
  readonly message: string;
  /** The number of requests it concerned since `since`. */
  readonly requests: number;
  readonly since: number;
  readonly last: number;
}

interface Sighting {
  requests: number;
  since: number;
  last: number;
  loggedAt: number;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * Notices peers that send forwarding headers and are not trusted, as a proxy does that `TRUSTED_PROXIES` does not list:
 * every sender behind it looks like one. Counts their requests, logs one line per kind of peer and hour, and has a
 * warning for `/healthz/ready` until an hour has passed without such a request. Remembers no address.
 */
export class IgnoredForwarding {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #counters: Readonly<Record<PeerKind, Counter>>;
  readonly #sightings = new Map<PeerKind, Sighting>();

  constructor({
    log,
    clock,
    metrics,
  }: { readonly log: Logger; readonly clock: Clock; readonly metrics: Metrics }) {
    this.#log = log;
    this.#clock = clock;
    const help =
      'requests whose forwarding headers were ignored, because TRUSTED_PROXIES does not contain their peer, by kind of peer';
    const counterOf = (peer: PeerKind) => metrics.counter('http_forwarding_ignored_total', help, { peer });
    this.#counters = {
      loopback: counterOf('loopback'),
      private: counterOf('private'),
      public: counterOf('public'),
    };
  }

  /** Notes a request of this peer, an address in its normal form. */
  note(peer: string): void {
    const kind = kindOf(peer);
    const nowMs = this.#clock.nowMs();
    this.#counters[kind].add();
    let sighting = this.#sightings.get(kind);
    if (sighting === undefined || isOver(sighting.last, nowMs)) {
      sighting = { requests: 0, since: nowMs, last: nowMs, loggedAt: Number.NEGATIVE_INFINITY };
      this.#sightings.set(kind, sighting);
    }
    sighting.requests += 1;
    sighting.last = nowMs;
    if (!isOver(sighting.loggedAt, nowMs)) return;
    sighting.loggedAt = nowMs;
    this.#log.warn(
      { peer: `a ${kind} address`, setting: 'TRUSTED_PROXIES' },
      'forwarding headers are ignored: their sender is not a trusted proxy',
    );
  }

  warnings(): readonly HealthWarning[] {
    const nowMs = this.#clock.nowMs();
    return PEER_KINDS.flatMap((kind) => {
      const sighting = this.#sightings.get(kind);
      if (sighting === undefined || isOver(sighting.last, nowMs)) return [];
      const message = `Forwarding headers from a ${kind} address are ignored, so all senders behind it count as one. If it is your proxy, add its address to TRUSTED_PROXIES.`;
      const { requests, since, last } = sighting;
      return [{ setting: 'TRUSTED_PROXIES', message, requests, since, last }];
    });
  }
}

/** The same warning of several services of a process, as one. */
export function mergedWarnings(warnings: readonly HealthWarning[]): readonly HealthWarning[] {
  const merged = new Map<string, HealthWarning>();
  for (const warning of warnings) {
    const same = merged.get(warning.message);
    if (same === undefined) merged.set(warning.message, warning);
    else
      merged.set(warning.message, {
        ...warning,
        requests: same.requests + warning.requests,
        since: Math.min(same.since, warning.since),
        last: Math.max(same.last, warning.last),
      });
  }
  return [...merged.values()];
}

function isOver(atMs: number, nowMs: number): boolean {
  return nowMs - atMs >= HOUR_MS;
}

function kindOf(peer: string): PeerKind {
  if (peer !== '' && LOOPBACK.check(peer, peer.includes(':') ? 'ipv6' : 'ipv4')) return 'loopback';
  return isPublic(peer) ? 'public' : 'private';
}
