import type { StoredId } from '../../infra/accounts/ids.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { Clock } from '../../infra/clock.ts';
import { decimalOf } from '../../infra/money.ts';
import { type EntityQuestions, entityKeyOf, type ProfileEntity } from '../entity-lookup.ts';
import { type Addition, isLargeAddition, roomProblem } from '../entity-size.ts';
import type { Authority, EntityUpdate } from '../entity-update.ts';
import type { ProfileId } from '../event.ts';
import { laneHashOf } from '../event.ts';
import type { Aliases, AliasResult } from '../identity/aliases.ts';
import type { Caller } from '../identity/caller.ts';
import type { Devices } from '../identity/visitor.ts';
import { busy, type PublishReject, type Reject } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { AliasBody, EntityBody } from '../request/track-request.ts';
import type { Publisher } from './publisher.ts';
import type { AnswerWaiter, RecentAnswers, TrackAnswer } from './recent-answers.ts';
import type { FoundSession, Sessions } from './sessions.ts';
import type { Tallies } from './tallies.ts';
import type { TrackOutcome } from './track-outcome.ts';

export interface TrackedEntityDeps {
  readonly recentAnswers: RecentAnswers;
  readonly sessions: Sessions;
  readonly aliases: Aliases;
  readonly entityQuestions: EntityQuestions;
  readonly entityPublisher: Publisher<EntityUpdate>;
  readonly tallies: Tallies;
  readonly clock: Clock;
}

/** A body about a profile, a group or an alias, with its caller and devices. */
export interface TrackedEntityOptions {
  readonly caller: Caller;
  readonly facts: RequestFacts;
  readonly body: EntityBody;
  readonly devices: Devices;
  /** The right by which it changes a profile or group. */
  readonly authority: Authority;
  readonly nowMs: number;
  /** True if the answer names the visitor's device and session. A batch's answer does not. */
  readonly namesSession: boolean;
  readonly outcome: TrackOutcome;
}

/**
 * One update of an entity. It is checked first, which may ask the entity's owner, and then published. In a batch all
 * updates are checked before the first is published, so that they keep their order.
 */
export class TrackedEntity implements AnswerWaiter {
  readonly #deps: TrackedEntityDeps;
  readonly #options: TrackedEntityOptions;
  readonly #siteId: StoredId;
  readonly #updateId: string;

  constructor(deps: TrackedEntityDeps, options: TrackedEntityOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#siteId = options.caller.site.storedId;
    this.#updateId = options.body.eventId || options.facts.idempotencyKey;
  }

  /**
   * Asks the entity's owner if the update applies: the sender may change the entity, an incremented property is a number, and there is room
   * for a large update. False: it does not apply, and this method has answered the sender. While the owner is silent, the update is
   * accepted, and the owner drops it later if it does not apply.
   */
  async check(): Promise<boolean> {
    const { body, outcome } = this.#options;
    if (body.kind === 'alias') return true;
    const name = this.#name(body);
    if (name.id === '') {
      outcome.rejected(NO_PROFILE);
      return false;
    }
    const { kind, devices } = this.#options.authority;
    const isDeviceAsked = kind === 'device' && !devices.includes(name.id);
    const addition: Addition = body.kind === 'step' ? {} : body;
    if (!isDeviceAsked && body.kind !== 'step' && !isLargeAddition(addition)) return true;
    const question = { ...name, projectId: this.#siteId, ...(isDeviceAsked ? { devices } : {}) };
    const answer = await this.#deps.entityQuestions.ask(question);
    if (answer.kind !== 'found') return true;
    if (answer.mayChange === false) {
      this.#deps.tallies.count(this.#siteId, `device:${name.kind}`, '');
      outcome.excluded({ kind: 'device', what: name.kind });
      return false;
    }
    const isNumber =
      body.kind !== 'step' || answer.record.kind !== 'profile' || mayHoldNumber(answer.record, body.property);
    if (!isNumber) outcome.rejected(NOT_A_NUMBER);
    const problem = answer.record.kind === 'order' ? undefined : roomProblem(answer.record, addition);
    if (problem !== undefined) outcome.rejected({ reason: 'schema', status: 400, message: problem });
    return isNumber && problem === undefined;
  }

  /** Makes the update durable and answers. Call it after `check` returned true; it resolves when the answer is out. */
  async publish(): Promise<void> {
    if (this.#updateId === '') {
      this.#finish(await this.#store());
      return;
    }
    const known = this.#deps.recentAnswers.begin(this.#siteId, this.#updateId, this.#options.nowMs, this);
    if (known === 'waits') return;
    if (known !== 'first') {
      this.#options.outcome.stored(known);
      return;
    }
    const result = await this.#store();
    this.#finish(result);
    this.#deps.recentAnswers.end(this.#siteId, this.#updateId, this.#deps.clock.nowMs(), result);
  }

  /** The request that had this id first has ended. */
  answered(result: TrackAnswer | Reject): void {
    this.#finish(result);
  }

  #finish(result: TrackAnswer | Reject): void {
    const { outcome } = this.#options;
    if ('reason' in result) outcome.rejected(result);
    else outcome.stored(result);
  }

  async #store(): Promise<TrackAnswer | Reject> {
    const { body } = this.#options;
    const reject =
      body.kind === 'alias' ? await this.#storeAlias(body) : await this.#storeUpdates(this.#updates());
    return reject ?? this.#identity();
  }

  async #storeAlias({ profileId, alias }: AliasBody): Promise<Reject | undefined> {
    const { caller, nowMs } = this.#options;
    const createdAt = new Date(nowMs).toISOString();
    try {
      const result = await this.#deps.aliases.put(
        { projectId: this.#siteId, profileId, alias, verified: caller.verified, createdAt },
        caller.site.teamId,
      );
      return result === 'stored' ? undefined : ALIAS_REJECTS[result];
    } catch (error) {
      if (error instanceof BusError) return busy('bus-away');
      throw error;
    }
  }

  /** Undefined once all are durable; the first reject otherwise. All of them may be repeated. */
  async #storeUpdates(updates: readonly EntityUpdate[]): Promise<Reject | undefined> {
    const rejects = await Promise.all(updates.map((update) => this.#storeUpdate(update)));
    return rejects.find((reject) => reject !== undefined);
  }

  async #storeUpdate(update: EntityUpdate): Promise<Reject | undefined> {
    const { entityPublisher } = this.#deps;
    const kind = update.kind === 'group' || update.kind === 'mention' ? 'group' : 'profile';
    const hash = laneHashOf(this.#siteId, entityKeyOf(kind, update.id), entityPublisher.layout);
    const reject = await new Promise<PublishReject | undefined>((published) => {
      entityPublisher.add(hash, update, { published });
    });
    return reject === undefined ? undefined : busy(reject);
  }

  /** The body's update; groups that a profile joins are mentioned, so that they exist. */
  #updates(): readonly EntityUpdate[] {
    const { body, nowMs } = this.#options;
    const mentioned = body.kind === 'assign_group' ? new Set(body.groupIds) : [];
    const head = { kind: 'mention', projectId: this.#siteId, atMs: nowMs, updateId: '' } as const;
    return [this.#update(), ...[...mentioned].map((id) => ({ ...head, id }))];
  }

  #update(): EntityUpdate {
    const { body, nowMs, authority } = this.#options;
    const head = { projectId: this.#siteId, atMs: nowMs, updateId: this.#updateId, authority };
    switch (body.kind) {
      case 'identify': {
        const { firstName, lastName, email, avatar, properties } = body;
        const given = Object.entries({ firstName, lastName, email, avatar }).filter(
          ([, text]) => text !== undefined,
        );
        const id = this.#profileOf(body.profileId);
        return { kind: 'identify', ...head, id, properties, ...Object.fromEntries(given) };
      }
      case 'step':
        return {
          kind: 'step',
          ...head,
          id: this.#profileOf(body.profileId),
          property: body.property,
          step: body.step,
        };
      case 'assign_group':
        return { kind: 'assign', ...head, id: this.#profileOf(body.profileId), groups: body.groupIds };
      case 'group':
        return {
          kind: 'group',
          ...head,
          id: body.id,
          type: body.type,
          name: body.name,
          properties: body.properties,
        };
      case 'alias':
        throw new Error('an alias is not an update of an entity');
    }
  }

  /** The entity that the update is about. */
  #name(body: Exclude<EntityBody, AliasBody>): {
    readonly kind: 'profile' | 'group';
    readonly id: string;
  } {
    if (body.kind === 'group') return { kind: 'group', id: body.id };
    return { kind: 'profile', id: this.#profileOf(body.profileId) };
  }

  /** The profile that the update is about; without one, the device's id. */
  #profileOf(profileId: ProfileId): string {
    return this.#deps.aliases.resolve(this.#siteId, profileId) || this.#options.devices.deviceId;
  }

  /** Device and session as the visitor's next event will have them. */
  #identity(): Promise<TrackAnswer> | TrackAnswer {
    const { devices, namesSession, nowMs } = this.#options;
    if (!namesSession || devices.deviceId === '') return { deviceId: devices.deviceId, sessionId: '' };
    return new Promise((resolve) => {
      const found = ({ deviceId, sessionId }: FoundSession) => resolve({ deviceId, sessionId });
      const request = {
        siteId: this.#siteId,
        ...devices,
        occurredAtMs: nowMs,
        eventId: '',
        readOnly: true,
        credit: false,
        isDelayed: false,
        found,
      };
      const session = this.#deps.sessions.find(request);
      if (session !== undefined) found(session);
    });
  }
}

const NO_PROFILE: Reject = {
  reason: 'schema',
  status: 400,
  message: 'payload.profileId: expected an id, because the request has no device to use instead',
};
const NOT_A_NUMBER: Reject = {
  reason: 'not-a-number',
  status: 400,
  message: 'payload.property: expected a property whose value is a number or absent',
};
const ALIAS_REJECTS: Readonly<Record<Exclude<AliasResult, 'stored'>, Reject>> = {
  circle: {
    reason: 'schema',
    status: 400,
    message: 'payload.alias: expected an id that payload.profileId is not already an alias of',
  },
  verified: {
    reason: 'unsafe-alias',
    status: 401,
    message:
      'service-client-secret: missing; this alias was made with a client secret, and is changed only with one',
  },
  full: {
    reason: 'aliases-full',
    status: 403,
    message:
      'payload.alias: the maximum number of aliases is reached, of the site or of its team; undo some first',
  },
};

/** True if a property of the profile is a number or absent. */
function mayHoldNumber({ properties }: ProfileEntity, property: string): boolean {
  for (let index = 0; index < properties.length; index += 2) {
    const key = properties[index] ?? '';
    const isText = key === property && decimalOf(properties[index + 1] ?? '') === undefined;
    if (isText || key.startsWith(`${property}.`)) return false;
  }
  return true;
}
