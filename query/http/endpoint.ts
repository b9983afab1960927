import type { z } from 'zod';
import type { ClientHeaders } from '../../infra/accounts/client-auth.ts';
import type { SiteId } from '../../infra/accounts/ids.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import { withSegments } from '../definitions/definitions.ts';
import type { QuestionScope } from '../snapshot/question.ts';
import { Requester } from '../snapshot/requester.ts';
import { StageTimes } from '../snapshot/stage-times.ts';
import type { BrowserHead } from './browser-head.ts';
import type { Caller } from './caller.ts';

/** Decides which clients may ask, and which limit counts; see `authenticator.ts`. */
export const AREAS = ['insights', 'export', 'manage'] as const;
export type Area = (typeof AREAS)[number];

/** The parts of a request's head that an endpoint needs. */
export interface Head {
  readonly credentials: ClientHeaders;
  /** The sender's proven address, in its normal form. */
  readonly address: string;
  /** Undefined without a cookie or view token of ours. */
  readonly browser: BrowserHead | undefined;
  readonly query: string;
  /** The values of the pattern's `:name` segments. */
  readonly path: Readonly<Record<string, string>>;
  readonly ifMatch: string;
  readonly contentType: string;
}

/** The documentation of an endpoint. */
export interface About {
  /** One line, as a heading. */
  readonly summary: string;
  /** Details beyond the summary. Plain text, paragraphs separated by empty lines. */
  readonly description: string;
  /** The schema of a JSON answer of status 200, or the content type of any other. */
  readonly answer: z.ZodType | { readonly contentType: string };
}

/** One authorized request. */
export interface EndpointCall<Parameters, Body> {
  readonly client: Caller;
  readonly path: Readonly<Record<string, string>>;
  readonly parameters: Parameters;
  readonly body: Body;
  /** Unchanged from the request; empty when absent. */
  readonly ifMatch: string;
}

/** An answer of status 200. */
export type EndpointAnswer = JsonAnswer | StreamedAnswer;

export interface JsonAnswer {
  readonly json: unknown;
  readonly headers?: HeaderList;
  /** Sent in the header `server-timing`. */
  readonly stages?: StageTimes;
}

/** A body that is sent as it comes. Its headers include the content type. */
export interface StreamedAnswer {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Aborted, with the reason, when the body must end immediately, incomplete. */
  readonly cut: AbortSignal;
  readonly headers: HeaderList;
}

/** One path and method: the clients that may ask, the data that they may send, and the answer. */
export interface Endpoint<Parameters = unknown, Body = unknown> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** A path with `:name` segments. */
  readonly pattern: string;
  /** The name of the endpoint in metrics. */
  readonly kind: string;
  readonly area: Area;
  readonly about: About;
  /** The schema of the query parameters. */
  readonly schema: z.ZodType<Parameters>;
  /** The schema of the JSON body; undefined where none is read. */
  readonly body: z.ZodType<Body> | undefined;
  /** An empty body counts as an empty object. */
  readonly isBodyOptional?: boolean;
  /** 64 KiB if absent. */
  readonly bodyMaxBytes?: number;
  /** Answers have `x-next-cursor` while there is a next page. */
  readonly isPaged?: boolean;
  /** Shared links may ask: for figures about a site and not about people. */
  readonly isShared?: boolean;
  /** The answer, where nothing has to be waited for. Undefined: `answer` is called. */
  readonly answerAtOnce?: (call: EndpointCall<Parameters, Body>) => EndpointAnswer | undefined;
  readonly answer: (call: EndpointCall<Parameters, Body>) => Promise<EndpointAnswer>;
}

/**
 * Resolves the scope of a client's question: the site, its time zone and the time. Throws a `RejectError` if the client may not
 * ask.
 */
export type ScopeOf = (client: Caller, projectId: SiteId) => QuestionScope;

/** A question below `/insights/{projectId}`, whose answer needs only the site and the parameters. */
export interface Insight<Parameters, Answer = unknown> {
  readonly path: string;
  readonly about: About;
  readonly schema: z.ZodType<Parameters>;
  /** See `Endpoint`. */
  readonly isShared?: boolean;
  /** See `Endpoint`. */
  readonly answerAtOnce?: (scope: QuestionScope, parameters: Parameters) => Answer | undefined;
  readonly answer: (scope: QuestionScope, parameters: Parameters, path?: Head['path']) => Promise<Answer>;
  /**
   * For a list that is answered in pages: the `cursor` of the next page, sent as `x-next-cursor`; undefined on the last
   * page.
   */
  next?(parameters: Parameters, answer: Answer): string | undefined;
}

/** The header with the cursor of the next page. The answer is a bare array, so it has no field for it. */
export const NEXT_CURSOR = 'x-next-cursor';

/** The endpoint of an insight. */
export function insight<Parameters, Answer>(
  scopeOf: ScopeOf,
  question: Insight<Parameters, Answer>,
): Endpoint<Parameters, undefined> {
  const { path, about, schema, answer, answerAtOnce } = question;
  return {
    method: 'get',
    pattern: `/insights/:projectId/${path}`,
    kind: path.replaceAll(':', '').replaceAll('/', '-'),
    area: 'insights',
    about,
    schema,
    body: undefined,
    isPaged: question.next !== undefined,
    isShared: question.isShared === true,
    ...(answerAtOnce === undefined
      ? {}
      : {
          answerAtOnce: ({ client, path: { projectId = '' }, parameters: given }) => {
            const stages = new StageTimes(performance.now());
            const scope = scopeOf(client, projectId);
            const json = answerAtOnce(scope, withSegments(given, scope.definitions));
            return json === undefined ? undefined : { json, stages };
          },
        }),
    answer: async ({ client, path: pathValues, parameters: given }) => {
      const scope = scopeOf(client, pathValues.projectId ?? '');
      const parameters = withSegments(given, scope.definitions);
      const json = await answer(scope, parameters, pathValues);
      const next = question.next?.(parameters, json);
      const stages = Requester.current?.stages;
      return {
        json,
        ...(stages === undefined ? {} : { stages }),
        ...(next === undefined ? {} : { headers: [[NEXT_CURSOR, next]] as const }),
      };
    },
  };
}
