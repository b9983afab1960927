import type { z } from 'zod';
import type { Client } from '../../infra/accounts/accounts.ts';
import type { ClientHeaders } from '../../infra/accounts/client-auth.ts';
import type { HeaderList } from '../../infra/http/http.ts';
import type { QuestionScope } from '../snapshot/question.ts';

/** Who is let in, and which limit counts; see `door.ts`. */
export const AREAS = ['insights', 'export', 'manage'] as const;
export type Area = (typeof AREAS)[number];

/** What is kept of a request's head. */
export interface Head {
  readonly credentials: ClientHeaders;
  readonly address: string;
  readonly query: string;
  /** What stands in the place of each `:name` of the pattern. */
  readonly path: Readonly<Record<string, string>>;
  readonly ifMatch: string;
  readonly contentType: string;
}

/** What a reader of the API's description is told of an endpoint. */
export interface About {
  /** One line, as a heading. */
  readonly summary: string;
  /** What the summary leaves open; empty for nothing. Plain text, paragraphs apart by empty lines. */
  readonly description?: string;
  /** The JSON of an answer of status 200, or of which other kind it is. */
  readonly answer: z.ZodType | { readonly contentType: string };
}

/** One request of a client that was let in. */
export interface Call<Parameters, Body> {
  readonly client: Client;
  readonly path: Readonly<Record<string, string>>;
  readonly parameters: Parameters;
  readonly body: Body;
  /** As sent; empty when absent. */
  readonly ifMatch: string;
}

/** An answer of status 200. */
export type Answered = JsonAnswer | StreamedAnswer;

export interface JsonAnswer {
  readonly json: unknown;
  readonly headers?: HeaderList;
}

/** A body that is sent as it comes; its headers say what it is. */
export interface StreamedAnswer {
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly headers: HeaderList;
}

/** One path and method: who may, what may be said, and how it is answered. */
export interface Endpoint<Parameters = unknown, Body = unknown> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** A path with `:name` segments. */
  readonly pattern: string;
  /** Names the question in metrics. */
  readonly kind: string;
  readonly area: Area;
  readonly about: About;
  /** Of what stands behind `?`. */
  readonly schema: z.ZodType<Parameters>;
  /** Of the JSON body; undefined where none is read. */
  readonly body: z.ZodType<Body> | undefined;
  /** 64 KiB where not given. */
  readonly bodyMaxBytes?: number;
  /** Whether `x-next-cursor` says where the next page begins. */
  readonly isPaged?: boolean;
  readonly answer: (call: Call<Parameters, Body>) => Promise<Answered>;
}

/** The site that a client may ask about, its zone and the time; throws a `RejectError` where it may not. */
export type ScopeOf = (client: Client, projectId: string) => QuestionScope;

/** A question below `/insights/{projectId}`, whose answer needs no more than the site and the parameters. */
export interface Insight<Parameters, Answer = unknown> {
  readonly path: string;
  readonly about: About;
  readonly schema: z.ZodType<Parameters>;
  readonly answer: (scope: QuestionScope, parameters: Parameters, path?: Head['path']) => Promise<Answer>;
  /** Of a list that is answered by pages: the `cursor` behind this one, for `x-next-cursor`; undefined behind the last. */
  next?(parameters: Parameters, answer: Answer): string | undefined;
}

/** The header that says where a list goes on. A bare array has no other place for it. */
export const NEXT_CURSOR = 'x-next-cursor';

/** The endpoint of such a question. */
export function insight<Parameters, Answer>(
  scopeOf: ScopeOf,
  question: Insight<Parameters, Answer>,
): Endpoint<Parameters, undefined> {
  const { path, about, schema, answer } = question;
  return {
    method: 'get',
    pattern: `/insights/:projectId/${path}`,
    kind: path.replaceAll(':', '').replaceAll('/', '-'),
    area: 'insights',
    about,
    schema,
    body: undefined,
    isPaged: question.next !== undefined,
    answer: async ({ client, path: named, parameters }) => {
      const json = await answer(scopeOf(client, named.projectId ?? ''), parameters, named);
      const next = question.next?.(parameters, json);
      return next === undefined ? { json } : { json, headers: [[NEXT_CURSOR, next]] };
    },
  };
}
