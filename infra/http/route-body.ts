import { unreachable } from '../assert.ts';
import { type HeaderList, JSON_TYPE } from './headers.ts';
import type { HttpResponse } from './library.ts';
import { BODY_TIME_MAX_MS, type BodyLoss } from './open-bodies.ts';
import { endLast, type OpenReply } from './open-reply.ts';
import type { BodyOutcome } from './request-body.ts';
import { errorText } from './status.ts';

const JSON_HEADER = ['content-type', JSON_TYPE] as const;
const RETRY_LATER = ['retry-after', '5'] as const;
const STATUS_OF_LOSS = {
  'no-room': 503,
  slow: 408,
  'too-large': 413,
} as const satisfies Record<BodyLoss, number>;

/** A request whose body is being read. */
export interface RequestWithBody<Head> {
  readonly route: {
    readonly bodyMaxBytes: number;
    readonly cors: HeaderList | undefined;
    readonly isHot?: boolean;
    ownerOf?(head: Head): string;
  };
  readonly head: Head;
  readonly reply: OpenReply;
  readonly response: HttpResponse;
  readonly complete: (body: Uint8Array) => void;
}

/** Handles the body for a route, and answers if the body is not read to its end. */
export class RouteBody<Head> implements BodyOutcome {
  readonly #request: RequestWithBody<Head>;

  constructor(request: RequestWithBody<Head>) {
    this.#request = request;
  }

  get maxBytes(): number {
    return this.#request.route.bodyMaxBytes;
  }

  get isHot(): boolean {
    return this.#request.route.isHot === true;
  }

  owner(): string {
    const { route, head, response } = this.#request;
    // Behind a proxy the peer is the proxy, which then owns all these bodies.
    return route.ownerOf?.(head) ?? Buffer.from(response.getRemoteAddress()).toString('hex');
  }

  complete(body: Uint8Array): void {
    this.#request.complete(body);
  }

  /** The rest of the body is dropped, so that the peer gets to see the answer. */
  lost(loss: BodyLoss): void {
    const { route, reply, response } = this.#request;
    const status = STATUS_OF_LOSS[loss];
    const body = errorText(status, messageOf(loss, route.bodyMaxBytes));
    const headers: HeaderList = [...(route.cors ?? []), ...(status === 503 ? [RETRY_LATER] : [])];
    if (loss !== 'slow') {
      reply.json(status, body, headers);
      return;
    }
    // A peer that drips would otherwise keep its connection.
    reply.handOver(() =>
      endLast(response, { status, body, headers: [JSON_HEADER, ...headers], isHead: false }),
    );
  }
}

function messageOf(loss: BodyLoss, maxBytes: number): string {
  switch (loss) {
    case 'no-room':
      return 'too many request bodies are open; try again, or send smaller ones';
    case 'slow':
      return `the body did not arrive within ${BODY_TIME_MAX_MS / 1000} seconds`;
    case 'too-large':
      return `the body is larger than ${maxBytes} bytes`;
    default:
      return unreachable(loss);
  }
}
