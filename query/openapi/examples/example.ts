/** An example request and its response, as the description of an endpoint shows them. */
export interface Example {
  /** Values of the path parameters, by name. */
  readonly path?: Readonly<Record<string, string>>;
  /** Values of the query parameters; a list for a repeated parameter. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** The request body as JSON. */
  readonly body?: unknown;
  /** The JSON of the 200 response. */
  readonly answer: unknown;
}

/** Examples by method and pattern: `get /manage/projects/:projectId`. */
export type Examples = Readonly<Record<string, Example>>;
