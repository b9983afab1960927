import type { z } from 'zod';
import type { Client } from '../ingest/accounts.ts';
import type { ClientHeaders } from '../ingest/client-auth.ts';
import type { Asked } from './question.ts';

/** What is kept of a request's head. */
export interface Head {
  readonly credentials: ClientHeaders;
  readonly address: string;
  readonly query: string;
  /** The site that the path names; empty when it names none. */
  readonly projectId: string;
  /** Of the profile or group that the path names; empty when it names none. */
  readonly id: string;
}

/** One question: how its site is found and how it is answered. */
export interface Endpoint<Parameters> {
  readonly pattern: string;
  /** Names the question in metrics. */
  readonly kind: string;
  readonly schema: z.ZodType<Parameters>;
  readonly answer: (client: Client, head: Head, parameters: Parameters) => Promise<unknown>;
}

/** The site that a client may ask about, its zone and the time; throws a `RefusalError` where it may not. */
export type AskedOf = (client: Client, projectId: string) => Asked;

/** A question below `/insights/{projectId}`, whose answer needs no more than the site and the parameters. */
export interface Insight<Parameters> {
  readonly path: string;
  readonly schema: z.ZodType<Parameters>;
  readonly answer: (asked: Asked, parameters: Parameters) => Promise<unknown>;
}

/** The endpoint of such a question. */
export function insight<Parameters>(
  askedOf: AskedOf,
  { path, schema, answer }: Insight<Parameters>,
): Endpoint<Parameters> {
  return {
    pattern: `/insights/:projectId/${path}`,
    kind: path.replaceAll('/', '-'),
    schema,
    answer: (client, { projectId }, parameters) => answer(askedOf(client, projectId), parameters),
  };
}
