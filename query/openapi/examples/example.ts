/** One request and its answer, as the description of an endpoint shows them. */
export interface Example {
  /** What stands in the place of each `:name` of the pattern. */
  readonly path?: Readonly<Record<string, string>>;
  /** What stands behind `?`; a parameter that is repeated is a list. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** The JSON of the body. */
  readonly body?: unknown;
  /** The JSON of an answer of status 200. */
  readonly answer: unknown;
}

/** Examples by method and pattern: `get /manage/projects/:projectId`. */
export type Examples = Readonly<Record<string, Example>>;
