import { must } from '../../infra/assert.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../infra/durations.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import { Calendar } from './calendar.ts';
import {
  ADDRESSES,
  AGENTS,
  CAMPAIGNS,
  type GoldenSite,
  GROUPS,
  HASHES,
  LOCALES,
  ORIGINS,
  PAGES,
  REFERRERS,
  SENDERS,
  SERVER_AGENT,
  WORDS,
} from './fixtures.ts';

/** A body of `POST /track`, with the user agent that sends it and its part of the traffic. */
export interface Sent {
  readonly part: number;
  readonly site: string;
  readonly agent: string;
  readonly body: { readonly type: string; readonly projectId: string; readonly payload: object };
  /** False for a repeat, and for requests that are no events. */
  readonly isEvent: boolean;
  /** To be sent after the rest of its part is acknowledged. */
  readonly isPayment: boolean;
}

/** Parts in which the traffic is sent; most of it comes with the first. */
export const PARTS = 4;
const DAYS = 60;
const YEAR_MS = 365 * DAY_MS;
const PEOPLE = 70;
const VISITS = 430;
const PROFILES = 10;

interface Person {
  /** Names the sender of the fixtures that its device has, if any. */
  readonly deviceId: string;
  readonly agent: string;
  /** Says more of its device. */
  readonly device: Properties;
  readonly address: string;
  readonly locale: Properties;
  /** Empty for a visitor who stays unknown. */
  readonly profileId: string;
  knownFromMs: number;
  /** Times of events, all different. */
  readonly timesMs: Set<number>;
}

type Properties = Readonly<Record<string, unknown>>;

/**
 * The traffic of one site: two months of visits, with more on days on which its clocks change and in the last two hours, and some
 * from over a year ago. The events of a visit arrive together, except for some arriving parts later.
 *
 * It excludes cases that exported rows cannot decide, see `model.ts`: a visit has at most one profile, a device has one event in
 * a millisecond, and a payment is either near an earlier event of its visit, or hours after the only visit of its device.
 */
export function siteTraffic(random: SeededRandom, site: GoldenSite, nowMs: number): Sent[] {
  const plan = new SitePlan(random, site, nowMs);
  plan.addRecords();
  const people = Array.from({ length: PEOPLE }, (_, index) => plan.person(index));
  for (let count = 0; count < VISITS; count += 1)
    plan.addVisit(random.one([people[0] ?? plan.person(0), ...people]));
  for (let count = 0; count < 25; count += 1) plan.addLatePayment(count);
  for (let count = 0; count < 30; count += 1) plan.addServerEvent();
  return plan.sent;
}

class SitePlan {
  readonly sent: Sent[] = [];
  readonly #random: SeededRandom;
  readonly #site: GoldenSite;
  readonly #nowMs: number;
  readonly #clockChangesMs: readonly number[];
  #orders = 0;

  constructor(random: SeededRandom, site: GoldenSite, nowMs: number) {
    this.#random = random;
    this.#site = site;
    this.#nowMs = nowMs;
    const calendar = new Calendar(site.zone, nowMs);
    this.#clockChangesMs = calendar.changes(nowMs, DAYS).map((date) => calendar.beginOf(date));
  }

  person(index: number): Person {
    const random = this.#random;
    const isKnown = random.chance(0.4);
    const sender = index % 4 === 3 ? SENDERS[(index >> 2) % SENDERS.length] : undefined;
    const kind = sender === undefined ? 'device' : `sender${SENDERS.indexOf(sender)}`;
    return {
      deviceId: `${this.#site.id}-${kind}-${index}`,
      agent: sender?.agent ?? random.favourite(AGENTS),
      device: sender?.properties ?? {},
      address: random.favourite(ADDRESSES),
      locale: random.favourite(LOCALES),
      profileId: isKnown ? `user-${random.below(PROFILES)}` : '',
      knownFromMs: this.#nowMs - random.below(DAYS) * DAY_MS,
      timesMs: new Set(),
    };
  }

  /** Groups and profiles, which change from part to part. */
  addRecords(): void {
    const random = this.#random;
    for (const [index, id] of GROUPS.entries()) {
      const payload = {
        id,
        type: index % 2 === 0 ? 'company' : 'team',
        name: `Group ${id}`,
        properties: { size: index * 10, tier: random.one(WORDS) },
      };
      this.#add(0, '', 'group', payload);
    }
    for (let index = 0; index < PROFILES - 2; index += 1) {
      const profileId = `user-${index}`;
      for (let part = 0; part < PARTS; part += 1) {
        if (part > 0 && !random.chance(0.3)) continue;
        const properties = { plan: random.one(WORDS), seats: random.below(12), part };
        const names = { firstName: random.one(['Ada', 'Zoë', 'Mo']), email: `${profileId}@mail.example` };
        this.#add(part, '', 'identify', { profileId, ...names, properties });
        if (random.chance(0.5))
          this.#add(part, '', 'assign_group', { profileId, groupIds: [random.one(GROUPS)] });
      }
    }
  }

  addVisit(person: Person): void {
    const random = this.#random;
    const startMs = this.#visitStartMs();
    // Rollups begin with the first hour that has any event, so older events arrive after rollups exist.
    const isOld = startMs < this.#nowMs - DAYS * DAY_MS;
    const part = isOld ? random.integer(1, PARTS - 1) : random.chance(0.6) ? 0 : random.below(PARTS);
    const isBounce = random.chance(0.35);
    const times = this.#visitTimes(person, isBounce ? 1 : random.integer(2, 9), startMs);
    const path = this.#entryPath();
    const paidAt = !isBounce && random.chance(0.15) ? random.integer(1, 4) : -1;
    // Some log in during their visit, and some log out again.
    const loginAt = random.chance(0.4) ? random.integer(1, 3) : 0;
    const logoutAt = random.chance(0.2) ? loginAt + 1 : times.length;
    for (const [index, atMs] of times.entries()) {
      const isFirst = index === 0;
      const isView = isBounce ? random.chance(0.9) : random.chance(isFirst ? 0.85 : 0.65);
      // A payment stays near its visit: across a gap it could arrive late.
      const isLate = paidAt === -1 && part < PARTS - 1 && random.chance(0.05);
      const place = isLate ? random.integer(part + 1, PARTS - 1) : part;
      const where = {
        __path: isFirst ? path : this.#path(),
        ...(isFirst ? this.#referrer() : {}),
        ...this.#title(atMs),
      };
      if (index === paidAt) this.#addPayment(place, person, { ...where, __timestamp: atMs });
      else
        this.#addEvent(
          place,
          index >= loginAt && index < logoutAt ? person : { ...person, profileId: '' },
          isView ? 'screen_view' : random.one(['click', 'sign_up', 'search']),
          { ...where, __timestamp: atMs },
        );
    }
  }

  /** A visitor who comes once and pays, or is refunded, hours later by way of a server. */
  addLatePayment(index: number): void {
    const random = this.#random;
    const person = {
      ...this.person(0),
      deviceId: `${this.#site.id}-payer-${index}`,
      profileId: '',
      timesMs: new Set<number>(),
    };
    const part = random.below(PARTS - 1);
    const times = this.#visitTimes(
      person,
      random.integer(1, 4),
      this.#nowMs - random.integer(1, DAYS) * DAY_MS,
    );
    for (const atMs of times)
      this.#addEvent(part, person, 'screen_view', { __path: this.#path(), __timestamp: atMs });
    const paidMs = must(times.at(-1), 'a visit has events') + random.integer(3, 20) * HOUR_MS;
    this.#addPayment(random.integer(part + 1, PARTS - 1), person, { __timestamp: paidMs });
  }

  /** Adds an event that a program of the site's owner sends without a visitor, or for a profile. */
  addServerEvent(): void {
    const random = this.#random;
    const atMs = this.#nowMs - random.below(20 * DAY_MS);
    const profileId = random.chance(0.5) ? `user-${random.below(PROFILES)}` : '';
    const name = random.one(['invoice', 'sync', 'screen_view']);
    const properties = {
      __timestamp: atMs,
      ...(random.chance(0.5) ? { __ip: random.favourite(ADDRESSES) } : {}),
      ...(name === 'screen_view' ? { __path: this.#path() } : {}),
      count: random.below(20),
    };
    this.#add(random.below(PARTS), SERVER_AGENT, 'track', {
      name,
      ...(profileId === '' ? {} : { profileId }),
      properties,
    });
  }

  #addEvent(part: number, person: Person, name: string, properties: Properties): void {
    const random = this.#random;
    const own =
      name === 'screen_view'
        ? {}
        : {
            kind: random.one(WORDS),
            'nested.size': random.below(15),
            ...(random.chance(0.2) ? { note: random.one(WORDS) } : {}),
          };
    const isKnown = person.profileId !== '' && Number(properties.__timestamp) >= person.knownFromMs;
    const payload = {
      name,
      ...(isKnown ? { profileId: person.profileId } : {}),
      ...(isKnown && random.chance(0.3) ? { groups: [random.one(GROUPS)] } : {}),
      properties: { ...properties, ...own, ...this.#visitor(person) },
    };
    if (!random.chance(0.04)) {
      this.#add(part, person.agent, 'track', payload);
      return;
    }
    const repeated = { ...payload, eventId: `event-${this.sent.length}` };
    this.#add(part, person.agent, 'track', repeated);
    this.#add(random.integer(part, PARTS - 1), person.agent, 'track', repeated, true);
  }

  #addPayment(part: number, person: Person, properties: Properties): void {
    const random = this.#random;
    const amount = random.chance(0.5)
      ? { __amount: random.integer(1, 50_000) / 100 }
      : { __revenue: random.integer(1, 90_000) };
    const currency = random.chance(0.6) ? {} : { __currency: random.one(['EUR', 'USD', 'JPY', 'KWD']) };
    const paid = { ...properties, ...amount, ...currency, ...this.#visitor(person) };
    const isOrder = random.chance(0.4);
    const order = isOrder ? { __orderId: `order-${this.#orders}` } : {};
    this.#orders += 1;
    const payload = { name: 'revenue', properties: { ...paid, ...order } };
    this.#add(part, person.agent, 'track', payload);
    if (!isOrder) return;
    if (random.chance(0.3)) this.#add(part, person.agent, 'track', payload, true);
    if (person.deviceId.includes('payer') && random.chance(0.6)) {
      const refund = {
        ...order,
        __refund: true,
        __timestamp: Number(properties.__timestamp) + HOUR_MS,
        ...this.#visitor(person),
      };
      this.#add(part, person.agent, 'track', { name: 'revenue', properties: refund });
    }
  }

  #visitor({ deviceId, address, locale, device }: Person): Properties {
    return { __deviceId: deviceId, ...device, ...locale, ...(address === '' ? {} : { __ip: address }) };
  }

  #visitStartMs(): number {
    const random = this.#random;
    const share = random.next();
    if (share < 0.14) return this.#nowMs - random.integer(1, 130) * MINUTE_MS;
    if (share < 0.2) return this.#nowMs - random.below(DAY_MS);
    if (share < 0.24) return this.#nowMs - YEAR_MS - random.below(40 * DAY_MS);
    const changeMs = this.#clockChangesMs[random.below(this.#clockChangesMs.length + 1)];
    if (share < 0.4 && changeMs !== undefined) return changeMs + random.below(DAY_MS + HOUR_MS);
    return this.#nowMs - random.below(DAYS * DAY_MS);
  }

  /** Without a gap of half an hour, not in the future, and never two at the same time from one device. */
  #visitTimes(person: Person, count: number, startMs: number): number[] {
    const times: number[] = [];
    for (let atMs = startMs; times.length < count; atMs += this.#random.integer(1_000, 20 * MINUTE_MS)) {
      if (times.length > 0 && atMs > this.#nowMs) break;
      while (person.timesMs.has(atMs)) atMs += 1;
      person.timesMs.add(atMs);
      times.push(atMs);
    }
    return times;
  }

  #entryPath(): string {
    const random = this.#random;
    return this.#path(random.chance(0.3) ? `?${random.one(CAMPAIGNS)}` : '');
  }

  #path(query = ''): string {
    const random = this.#random;
    const hash = random.chance(0.15) ? random.one(HASHES) : '';
    return random.favourite(ORIGINS) + random.favourite(PAGES) + query + hash;
  }

  #referrer(): Properties {
    return this.#random.chance(0.6) ? { __referrer: this.#random.one(REFERRERS) } : {};
  }

  /** The title of a page changes every ten days. */
  #title(atMs: number): Properties {
    return this.#random.chance(0.8) ? { __title: `Title ${Math.floor(atMs / (10 * DAY_MS)) % 7}` } : {};
  }

  #add(part: number, agent: string, type: string, payload: object, isRepeat = false): void {
    const body = { type, projectId: this.#site.id, payload };
    this.sent.push({
      part,
      site: this.#site.id,
      agent: agent || SERVER_AGENT,
      body,
      isEvent: type === 'track' && !isRepeat,
      isPayment: 'name' in payload && payload.name === 'revenue',
    });
  }
}
