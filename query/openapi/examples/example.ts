/**
 * A request that the documentation shows. `bench/openapi/examples` sends it to the service and stores it with its answer in `captured/`.
 * In every text, `{name}` is a value that an earlier answer had, such as `{token}`.
 */
export interface ShownRequest {
  /** Method and pattern: `get /manage/projects/:projectId`. */
  readonly operation: string;
  /** The name of the example where the operation shows several bodies. */
  readonly title?: string;
  /** Values of path parameters. Others are the id of the record that an answer had last; `projectId` is `demo`. */
  readonly path?: Readonly<Record<string, string>>;
  /** Values of the query parameters; a list for a repeated parameter. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** The request body as JSON. */
  readonly body?: unknown;
  /** Headers besides the credentials that the operation needs; an empty one is left out. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The status of the answer; 200 when absent. */
  readonly status?: number;
  /** Values that later requests use, by name: where they are in JSON, such as `data.token`, or a pattern of a text. */
  readonly keep?: Readonly<Record<string, string | RegExp>>;
  /** Repeats the request until its answer has this value. */
  readonly until?: { readonly at: string; readonly is: string | number };
  /** The number of equal requests that are sent together before it, to reach a limit. */
  readonly flood?: number;
  /** The number of a list's rows that are shown; the usual number when absent. */
  readonly rows?: number;
  /** False for a request that only changes or awaits something. */
  readonly isShown?: false;
  /** The only fields of a JSON answer, or beginnings of lines of a text, that are shown. */
  readonly show?: readonly string[];
}

/** A request as it was sent, and its answer. Ids, secrets and times are replaced by stable ones, and long lists are cut. */
export interface CapturedExample {
  readonly title: string;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
  readonly status: number;
  /** JSON, or the text of another media type; absent for an answer without a body. */
  readonly answer?: unknown;
}

/** The JSON of an error. */
export interface ErrorExample {
  readonly status: number;
  readonly error: string;
  readonly message: string;
}
