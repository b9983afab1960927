import type { z } from 'zod';
import { CLIENT_HEADER_NAMES, readClientHeaders } from '../../infra/accounts/client-auth.ts';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { copyText } from '../../infra/http/cut-text.ts';
import { longQuery } from '../../infra/http/head-limits.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { HttpServer, RequestHead } from '../../infra/http/http.ts';
import type { Feed, Reply } from '../../infra/http/open-reply.ts';
import type { Socket } from '../../infra/http/sockets.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import type { Authenticator } from '../http/authenticator.ts';
import { firstProblem } from '../http/read-by.ts';
import { badgeSvg } from './badge.ts';
import { embedAnswer } from './embed-page.ts';
import { badgeQuery, connectionQuery, embedQuery, type NumberQuery, numberQuery } from './live-api.ts';
import type { LiveDetails } from './live-details.ts';
import { type Admitted, type LiveDoor, type LiveRequest, seesWhole } from './live-door.ts';
import type { LiveHub, LiveReading, Seat } from './live-hub.ts';

const DAY_S = 86_400;
/** Delay before an event reader reconnects, unless it has its own. */
const RETRY_MS = 3_000;
/** A proxy ends connections after a silent minute. */
const HEARTBEAT_EVERY_MS = 20_000;
/** Access to the site was revoked. The code is our own, so clients can distinguish this from a lost connection. */
const CLOSE_NOT_ALLOWED = 4_403;
/** The service restarts. */
const CLOSE_RESTART = 1_012;
const BADGE_AGE_S = 10;

/** Pages of every origin may ask, without cookies; the origin decides whether there is an answer. */
const CORS: HeaderList = [
  ['access-control-allow-origin', '*'],
  ['access-control-allow-methods', 'GET, OPTIONS'],
  ['access-control-allow-headers', CLIENT_HEADER_NAMES.join(', ')],
  ['access-control-max-age', String(DAY_S)],
];
const ANSWER_CORS: HeaderList = [
  ['access-control-allow-origin', '*'],
  ['access-control-expose-headers', 'retry-after, service-version'],
];
const NO_STORE = ['cache-control', 'no-store'] as const;

export interface LiveRoutesDeps {
  readonly http: HttpServer;
  readonly authenticator: Authenticator;
  readonly door: LiveDoor;
  readonly hub: LiveHub;
  readonly metrics: Metrics;
  readonly details: LiveDetails;
  readonly nowMs: () => number;
}

const KINDS = ['websocket', 'events'] as const;
type Kind = (typeof KINDS)[number];

/** Adds every path below `/live`. */
export function addLiveRoutes(deps: LiveRoutesDeps): { stop(): void } {
  const live = new LiveRoutes(deps);
  return { stop: () => live.stop() };
}

/** Subscribers of a site's number, as JSON and as text. */
export function sendToTopics(http: HttpServer, storedId: StoredId, reading: LiveReading): number {
  return (
    http.publish(topicOf('json', storedId), jsonOf(reading)) +
    http.publish(topicOf('text', storedId), textOf(reading))
  );
}

type Form = 'json' | 'text';

/** A connection's place, its seat and the function that ends it. */
interface LiveConnection {
  readonly admitted: Admitted;
  readonly free: () => void;
  seat: Seat | undefined;
}

class LiveRoutes {
  readonly #deps: LiveRoutesDeps;
  readonly #open: Readonly<Record<Kind, { count: number }>> = {
    websocket: { count: 0 },
    events: { count: 0 },
  };
  readonly #skipped: Counter;
  /** Readers of events, which get a comment at regular intervals. */
  readonly #feeds = new Set<() => void>();
  readonly #heartbeat: NodeJS.Timeout;

  constructor(deps: LiveRoutesDeps) {
    this.#deps = deps;
    const { metrics } = deps;
    this.#skipped = metrics.counter(
      'live_skipped_total',
      'numbers that were not sent to a slow connection, which gets the newest one later',
    );
    for (const kind of KINDS)
      metrics.gaugeOf(
        'live_connections',
        'connections that are open now',
        { kind },
        () => this.#open[kind].count,
      );
    this.#heartbeat = setInterval(() => {
      for (const beat of this.#feeds) beat();
    }, HEARTBEAT_EVERY_MS).unref();
    this.#addSocket('/live/:projectId', 'json', jsonOf);
    this.#addSocket('/live/visitors/:projectId', 'text', textOf);
    this.#addNumber();
    this.#addEvents();
    this.#addBadge();
    this.#addEmbed();
  }

  stop(): void {
    clearInterval(this.#heartbeat);
  }

  #addSocket(pattern: string, form: Form, textFor: (reading: LiveReading) => string): void {
    const { http, hub, door } = this.#deps;
    const send = (socket: Socket, seat: Seat | undefined) => {
      const reading = seat?.reading();
      if (reading === undefined) return;
      socket.send(textFor(reading));
      hub.noteMessage();
    };
    http.socket<LiveRequest, LiveConnection>({
      pattern,
      readHead: (head) => this.#read(head),
      admit: (request, reply) =>
        this.#answering(request, connectionQuery, reply, async ({ admitted, noted }) => {
          const free = door.takePlace(admitted.site, request.head.address, noted);
          return { admitted, free, seat: undefined };
        }),
      opened: (socket, connection) => {
        const { site, grant } = connection.admitted;
        this.#open.websocket.count += 1;
        connection.seat = hub.join(site, {
          isTimed: grant.kind !== 'public',
          isAllowed: () => door.isAllowed(site, grant),
          end: (reason) =>
            reason === 'stopping'
              ? socket.end(CLOSE_RESTART, 'restarting')
              : socket.end(CLOSE_NOT_ALLOWED, 'no longer allowed'),
        });
        socket.subscribe(topicOf(form, site.storedId));
        send(socket, connection.seat);
      },
      skipped: () => this.#skipped.add(),
      caughtUp: (socket, { seat }) => send(socket, seat),
      closed: ({ free, seat }) => {
        free();
        if (seat === undefined) return;
        this.#open.websocket.count -= 1;
        seat.leave();
      },
    });
  }

  /** Adds the routes that answer the current number immediately, as JSON or as plain text. */
  #addNumber(): void {
    const { door, hub, nowMs } = this.#deps;
    const json = (pattern: string) =>
      this.#addGet(pattern, numberQuery, async ({ admitted, query, headers, reply }) => {
        const shown = await this.#shown(admitted, query);
        if (shown.visitors === undefined) return door.reject('away', AWAY);
        const answer = { ...shown, at: new Date(nowMs()).toISOString() };
        reply.json(200, JSON.stringify(answer), [...headers, NO_STORE]);
      });
    json('/live/:projectId');
    json('/live/:projectId.json');
    this.#addGet('/live/visitors/:projectId', connectionQuery, async ({ admitted, headers, reply }) => {
      const visitors = await hub.visitorsOf(admitted.site.storedId);
      if (visitors === undefined) return door.reject('away', AWAY);
      reply.send(200, String(visitors), [
        ['content-type', 'text/plain; charset=utf-8'],
        ...headers,
        NO_STORE,
      ]);
    });
  }

  async #shown({ site, grant }: Admitted, query: NumberQuery) {
    const { door, hub, details } = this.#deps;
    const isWhole = seesWhole(grant);
    if (query.today && !isWhole)
      return door.reject('not-public', 'today: not public; send a client or a token made with wall=true');
    const [now, today] = await Promise.all([
      query.details
        ? details.now(site, { isWhole })
        : hub.visitorsOf(site.storedId).then((visitors) => ({ visitors })),
      query.today ? details.today(site) : undefined,
    ]);
    return { ...now, ...(today !== undefined && { today }) };
  }

  #addEvents(): void {
    const { door, hub } = this.#deps;
    this.#addGet(
      '/live/:projectId/events',
      connectionQuery,
      async ({ admitted, headers, reply, address, noted }) => {
        const free = door.takePlace(admitted.site, address, noted);
        let seat: Seat | undefined;
        let isSlow = false;
        let isStale = false;
        const send = (text: string) => {
          isSlow = feed?.send(text) !== true;
        };
        const tell = (reading: LiveReading) => {
          if (isSlow) {
            isStale = true;
            this.#skipped.add();
          } else send(eventOf(reading));
        };
        const beat = () => {
          if (!isSlow) send(': \n\n');
        };
        const feed: Feed | undefined = reply.feed(
          [['content-type', 'text/event-stream'], NO_STORE, ['x-accel-buffering', 'no'], ...headers],
          `retry: ${RETRY_MS}\n\n`,
          () => {
            isSlow = false;
            const reading = isStale ? seat?.reading() : undefined;
            isStale = false;
            if (reading !== undefined) send(eventOf(reading));
          },
        );
        if (feed === undefined) return free();
        this.#open.events.count += 1;
        this.#feeds.add(beat);
        let isOver = false;
        const leave = () => {
          if (isOver) return;
          isOver = true;
          free();
          seat?.leave();
          this.#feeds.delete(beat);
          this.#open.events.count -= 1;
        };
        reply.gone.addEventListener('abort', leave);
        const { site, grant } = admitted;
        seat = hub.join(site, {
          isTimed: grant.kind !== 'public',
          isAllowed: () => door.isAllowed(site, grant),
          tell,
          end: () => {
            feed.end();
            leave();
          },
        });
        const present = seat.reading();
        if (present !== undefined) {
          send(eventOf(present));
          hub.noteMessage();
        }
      },
    );
  }

  #addBadge(): void {
    const { hub } = this.#deps;
    this.#addGet('/live/:projectId.svg', badgeQuery, async ({ admitted, query, headers, reply }) => {
      const visitors = await hub.visitorsOf(admitted.site.storedId);
      const isShared = admitted.grant.kind === 'public' && visitors !== undefined;
      reply.send(200, badgeSvg(visitors, query), [
        ['content-type', 'image/svg+xml; charset=utf-8'],
        ['content-security-policy', "default-src 'none'; style-src 'unsafe-inline'"],
        ['cross-origin-resource-policy', 'cross-origin'],
        isShared ? ['cache-control', `public, max-age=${BADGE_AGE_S}`] : NO_STORE,
        ...headers,
      ]);
    });
  }

  #addEmbed(): void {
    this.#addGet('/live/:projectId/embed', embedQuery, async ({ admitted, query, headers, reply }) => {
      const { text, headers: own } = embedAnswer(admitted.site, query, seesWhole(admitted.grant));
      reply.send(200, text, [...own, NO_STORE, ...headers]);
    });
  }

  #addGet<Schema extends z.ZodType>(
    pattern: string,
    schema: Schema,
    answer: (exchange: {
      readonly admitted: Admitted;
      readonly query: z.output<Schema>;
      readonly headers: HeaderList;
      readonly address: string;
      readonly reply: Reply;
      readonly noted: (headers: HeaderList) => void;
    }) => Promise<void>,
  ): void {
    this.#deps.http.route<LiveRequest>({
      method: 'get',
      pattern,
      bodyMaxBytes: 0,
      cors: CORS,
      readHead: (head) => this.#read(head),
      answer: async (request, _body, reply) => {
        await this.#answering(request, schema, reply, ({ admitted, query, noted }) =>
          answer({
            admitted,
            query,
            noted,
            headers: [...ANSWER_CORS, ...admitted.headers],
            address: request.head.address,
            reply,
          }),
        );
      },
    });
  }

  /** Reads the parameters, admits the request and answers it, or rejects it with a reason. */
  async #answering<Schema extends z.ZodType, Result>(
    request: LiveRequest,
    schema: Schema,
    reply: Reply,
    answer: (exchange: {
      readonly admitted: Admitted;
      readonly query: z.output<Schema>;
      readonly noted: (headers: HeaderList) => void;
    }) => Promise<Result>,
  ): Promise<Result | undefined> {
    const { door } = this.#deps;
    let headers: HeaderList = ANSWER_CORS;
    const noted = (more: HeaderList) => {
      headers = [...ANSWER_CORS, ...more];
    };
    try {
      const problem = longQuery(request.head.query);
      if (problem !== undefined) return door.reject('invalid', problem);
      const parsed = schema.safeParse(Object.fromEntries(filled(request.head.query)));
      if (!parsed.success) return door.reject('invalid', firstProblem(parsed.error, 'query'));
      const { token } = parsed.data as { readonly token?: string };
      const admitted = await door.admit(request, token, noted);
      return await answer({ admitted, query: parsed.data, noted });
    } catch (error) {
      door.answer(error, headers, reply);
      return undefined;
    }
  }

  #read(head: RequestHead): LiveRequest {
    return {
      head: {
        credentials: readClientHeaders(head),
        address: copyText(this.#deps.authenticator.addressOf(head)),
        browser: this.#deps.authenticator.browserOf(head),
        query: head.query,
        path: { projectId: head.parameter(0) },
        ifMatch: '',
        contentType: '',
      },
      siteId: head.parameter(0),
      origin: copyText(head.header('origin')),
      host: copyText(head.header('host')),
    };
  }
}

const AWAY = 'the live visitors cannot be counted now: a processor is away';

/** The non-empty parameters of a query. */
function filled(query: string): [string, string][] {
  return [...new URLSearchParams(query)].filter(([, value]) => value !== '');
}

function topicOf(form: Form, storedId: StoredId): string {
  return `live/${form}/${storedId}`;
}

function jsonOf({ visitors, atMs }: LiveReading): string {
  return JSON.stringify({ visitors, at: new Date(atMs).toISOString() });
}

function textOf({ visitors }: LiveReading): string {
  return String(visitors);
}

function eventOf(reading: LiveReading): string {
  return `data: ${jsonOf(reading)}\n\n`;
}
