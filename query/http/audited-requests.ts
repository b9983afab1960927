import { BusError } from '../../infra/bus/bus-error.ts';
import type { Logger } from '../../infra/log.ts';
import type { AuditedAction, AuditLog, AuditOutcome, BegunAction } from '../audit/audit-log.ts';
import { RejectError } from '../reject.ts';
import type { Caller } from './caller.ts';
import type { Endpoint, EndpointAnswer } from './endpoint.ts';

const FIELDS_MAX = 100;
/** Ids of sites and names of fields as this service makes them. Any other text may be anything that a sender typed. */
const OURS = /^[\w-]{1,100}$/;
/** Ids of records. Other ids in a path are ids of people, which the log does not name. */
const RECORD_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The parameter of the path of an erasure. */
const PERSON = 'profileId';

/** A request that changes something. */
export interface ChangeRequest {
  readonly endpoint: Pick<Endpoint, 'method' | 'pattern'>;
  readonly client: Caller;
  /** The values of the pattern's `:name` segments. */
  readonly path: Readonly<Record<string, string>>;
  /** The query string. */
  readonly query: string;
  /** The JSON that was sent; undefined without a body. */
  readonly sent: unknown;
}

/** Logs the requests below `/manage` that change something (see `AuditLog`). */
export class AuditedRequests {
  readonly #audit: AuditLog;
  readonly #log: Logger;

  constructor(audit: AuditLog, log: Logger) {
    this.#audit = audit;
    this.#log = log;
  }

  /**
   * Logs the request, answers it with `answer`, and logs the outcome before it returns. Throws a `RejectError` when the
   * request cannot be logged.
   */
  async run(request: ChangeRequest, answer: () => Promise<EndpointAnswer>): Promise<EndpointAnswer> {
    const action = actionOf(request);
    const begun = await this.#begin(request.client.teamId, action);
    let answered: EndpointAnswer;
    try {
      answered = await answer();
    } catch (error) {
      const { projectId } = action;
      await this.#endFailed(begun, { status: statusOf(error), projectId, made: null, profileDigest: null });
      throw error;
    }
    try {
      await this.#audit.end(begun, outcomeOf(request, action, answered));
    } catch (error) {
      throw awayError(
        'the change was made, but the audit log cannot be completed; look before trying again',
        error,
      );
    }
    return answered;
  }

  /** Logs a request that was rejected because the client may not manage. It changed nothing, so a failure is only reported. */
  async noteRejected(request: Omit<ChangeRequest, 'query' | 'sent'>, status: number): Promise<void> {
    const action = actionOf({ ...request, query: '', sent: undefined });
    try {
      await this.#audit.rejected(request.client.teamId, action, status);
    } catch (error) {
      this.#log.warn({ err: error }, 'audit log: a rejected request could not be logged');
    }
  }

  async #begin(teamId: string, action: AuditedAction): Promise<BegunAction> {
    try {
      return await this.#audit.begin(teamId, action);
    } catch (error) {
      throw awayError('the audit log cannot be written now, so nothing was changed; try again', error);
    }
  }

  /** The client learns the error of the request itself. Without this entry, the status of the action stays unknown. */
  async #endFailed(begun: BegunAction, outcome: AuditOutcome): Promise<void> {
    try {
      await this.#audit.end(begun, outcome);
    } catch (error) {
      this.#log.warn({ err: error }, 'audit log: the outcome of a failed request could not be logged');
    }
  }
}

function actionOf({ endpoint, client, path, query, sent }: ChangeRequest): AuditedAction {
  const { projectId = '', [PERSON]: _person, alias: _alias, ...ids } = path;
  const ofBody = isObject(sent) && typeof sent.projectId === 'string' ? sent.projectId : '';
  return {
    actor: client.proof?.kind === 'user' ? 'user' : 'client',
    clientId: client.id,
    // Other clients belong to a site, and users are people: their names go with their records.
    clientName: client.type === 'root' && client.proof?.kind !== 'user' ? client.name : null,
    action: `${endpoint.method.toUpperCase()} ${endpoint.pattern.replace(/:(\w+)/g, '{$1}')}`,
    projectId: ourId(projectId || ofBody),
    ids: Object.fromEntries(Object.entries(ids).filter(([, id]) => RECORD_ID.test(id))),
    fields: fieldsOf(query, sent),
  };
}

function outcomeOf(
  { endpoint, path }: ChangeRequest,
  { projectId }: AuditedAction,
  answered: EndpointAnswer,
): AuditOutcome {
  const json = 'json' in answered && isObject(answered.json) ? answered.json : {};
  const data = isObject(json.data) ? json.data : {};
  const id = typeof data.id === 'string' ? data.id : null;
  const isMade = endpoint.method === 'post' && id !== null && !Object.values(path).includes(id);
  const isProject = endpoint.pattern === '/manage/projects';
  const ofData = typeof data.projectId === 'string' ? data.projectId : null;
  return {
    status: 200,
    projectId: projectId ?? ofData ?? (isProject ? id : null),
    made: isMade ? id : null,
    profileDigest: PERSON in path && typeof data.profileDigest === 'string' ? data.profileDigest : null,
  };
}

/** The names of the fields that a request gave, two levels deep, and of its parameters with a `?`. */
function fieldsOf(query: string, sent: unknown): string[] {
  const parameters = [...new Set(new URLSearchParams(query).keys())].map((name) => `?${named(name)}`);
  const fields = Object.entries(isObject(sent) ? sent : {}).flatMap(([name, value]) => {
    const inner = isObject(value) ? Object.keys(value) : [];
    return inner.length === 0 ? [named(name)] : inner.map((part) => `${named(name)}.${named(part)}`);
  });
  return [...fields.sort(), ...parameters.sort()].slice(0, FIELDS_MAX);
}

function named(name: string): string {
  return OURS.test(name) ? name : '…';
}

function ourId(id: string): string | null {
  return OURS.test(id) ? id : null;
}

function statusOf(error: unknown): number {
  if (error instanceof RejectError) return error.status;
  return error instanceof BusError && error.retryable ? 503 : 500;
}

function awayError(message: string, cause: unknown): unknown {
  return cause instanceof BusError ? new RejectError('bus-away', message, cause) : cause;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
