import type { Credential } from '../../cluster/client.ts';

/** The target of an attack: a service on this machine, and the attacking team's accounts there. */
export interface AttackTarget {
  readonly url: string;
  /** The team's sites; the first one has a history. */
  readonly sites: readonly string[];
  readonly clients: Readonly<Record<'root' | 'read' | 'write', Credential>>;
  /** Ids of read clients that have the secret of `read`. */
  readonly readers: readonly string[];
}

export interface AttackRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The worst that a stranger, a viewer or a tenant may do in one way. Every entry names the resource that it tries to exhaust. */
export interface Attack {
  readonly name: string;
  readonly aim: string;
  /** Requests at a time, each on its own connection. */
  readonly inFlight: number;
  /**
   * The request of this number. With `opened`, only this many bytes of its body are sent, and the connection stays open until the
   * end.
   */
  readonly request: (target: AttackTarget, index: number) => AttackRequest;
  readonly opened?: number;
  /** The attacker computes between two requests, and never rests. */
  readonly isBusy?: boolean;
}
