import { readClientHeaders } from '../../infra/accounts/client-auth.ts';
import { withoutEncoding } from '../../infra/http/encoding.ts';
import type { HttpServer, RequestHead } from '../../infra/http/http.ts';
import { isNestedDeeper, NESTING_MAX } from '../../infra/http/json-nesting.ts';
import type { Reply } from '../../infra/http/open-reply.ts';
import type { Metrics } from '../../infra/metrics.ts';
import { limitedNetwork } from '../../infra/network/client-address.ts';
import { RejectError } from '../reject.ts';
import { Requester } from '../snapshot/requester.ts';
import type { AuditedRequests } from './audited-requests.ts';
import type { Authenticator, EnteredCaller } from './authenticator.ts';
import type { Endpoint, Head } from './endpoint.ts';
import { foreignParameters } from './foreign-parameters.ts';
import { parameterKinds, readParameters } from './parameters.ts';
import { readBy } from './read-by.ts';
import { rejectUnshared } from './shared-questions.ts';

export const BODY_MAX_BYTES = 65_536;

/** Dependencies shared by all endpoints. */
export interface Serving {
  readonly authenticator: Authenticator;
  readonly audited: AuditedRequests;
  readonly metrics: Metrics;
}

/** An endpoint with any types of parameters and body. */
export interface AnyEndpoint extends Omit<Endpoint, 'answer' | 'answerAtOnce'> {
  addTo(http: HttpServer, serving: Serving): void;
}

/** Hides the types of an endpoint's parameters and body, which only the endpoint itself needs. */
export function anyEndpoint<Parameters, Body>(endpoint: Endpoint<Parameters, Body>): AnyEndpoint {
  return {
    ...endpoint,
    addTo: (http, serving) => serve(http, serving, endpoint),
  };
}

/** Adds an endpoint to `http`: authorizes each request, reads its parameters and body, answers and measures it. */
function serve<Parameters, Body>(
  http: HttpServer,
  { authenticator, audited, metrics }: Serving,
  endpoint: Endpoint<Parameters, Body>,
): void {
  const kind = { kind: endpoint.kind };
  const requests = metrics.counter('query_questions_total', 'requests received, by endpoint', kind);
  const seconds = metrics.seconds('query_question_seconds', 'time from request to answer, by endpoint', kind);
  const foreign = foreignParameters(endpoint.pattern);
  // A schema that cannot be read stops the start of the service.
  parameterKinds(endpoint.schema);
  /** The parameters of a request without a query string, read once: reading them each time took a tenth of an answer with live visitors. */
  let withoutQuery: Parameters | undefined;
  const parametersOf = (query: string): Parameters => {
    if (query !== '') return readParameters(query, endpoint.schema, foreign);
    withoutQuery ??= readParameters(query, endpoint.schema, foreign);
    return withoutQuery;
  };
  const isChange = endpoint.area === 'manage' && endpoint.method !== 'get';
  const names = [...endpoint.pattern.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const enter = ({ head }: AskingHead, reply: Reply) => {
    requests.add();
    return authenticator.enter(endpoint.area, head, reply, async (client, status) => {
      if (isChange) await audited.noteRejected({ endpoint, client, path: head.path }, status);
    });
  };
  http.route<AskingHead>({
    method: endpoint.method,
    pattern: endpoint.pattern,
    bodyMaxBytes: endpoint.body === undefined ? 0 : (endpoint.bodyMaxBytes ?? BODY_MAX_BYTES),
    cors: undefined,
    readHead: (head) => ({ head: readHead(head, names, authenticator), entered: undefined }),
    admit: async (asking, reply) => {
      asking.entered = await enter(asking, reply);
      return asking.entered === undefined ? 'answered' : 'proven';
    },
    ownerOf: ({ head, entered }) => entered?.owner ?? limitedNetwork(head.address),
    answer: async (asking, bytes, reply) => {
      const startedAt = performance.now();
      const { head } = asking;
      const entered = asking.entered ?? (await enter(asking, reply));
      if (entered === undefined) return;
      await authenticator.answer(entered, reply, async (client) => {
        const { path, ifMatch, query } = head;
        const parameters = parametersOf(query);
        rejectUnshared(client, endpoint.isShared === true, Object(parameters));
        const { body, sent } = readBody(head, bytes, endpoint);
        const call = { client, path, parameters, body, ifMatch };
        const known = endpoint.answerAtOnce?.(call);
        if (known !== undefined) return known;
        const requester = new Requester(client.teamId, reply, client.id);
        const answer = () => requester.run(() => endpoint.answer(call));
        return isChange ? audited.run({ endpoint, client, path, query, sent }, answer) : answer();
      });
      seconds.observe((performance.now() - startedAt) / 1000);
    },
  });
}

/** A request whose client is identified before its body is read. */
interface AskingHead {
  readonly head: Head;
  /** Undefined until then, and where there is no body. */
  entered: EnteredCaller | undefined;
}

function readHead(head: RequestHead, names: readonly string[], authenticator: Authenticator): Head {
  const credentials = readClientHeaders(head);
  return {
    credentials,
    address: authenticator.needsAddress(credentials) ? authenticator.addressOf(head) : '',
    browser: authenticator.browserOf(head),
    query: head.query,
    path: Object.fromEntries(names.map((name, index) => [name, head.parameter(index)])),
    ifMatch: withoutEncoding(head.header('if-match')),
    contentType: head.header('content-type'),
  };
}

/** Reads a body as JSON, by `schema`, and returns it as read and as sent. Throws a `RejectError` that names the first invalid field. */
export function readBody<Body>(
  { contentType }: Pick<Head, 'contentType'>,
  bytes: Uint8Array,
  { body: schema, isBodyOptional = false }: Pick<Endpoint<unknown, Body>, 'body' | 'isBodyOptional'>,
): { readonly body: Body; readonly sent: unknown } {
  // An endpoint without a schema does not read its body.
  if (schema === undefined) return { body: undefined as Body, sent: undefined };
  if (isBodyOptional && bytes.length === 0) return { body: readBy(schema, {}, 'body'), sent: undefined };
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  // Beacons of pages send `text/plain`, and so do careless clients.
  if (type !== '' && type !== 'application/json' && type !== 'text/plain') {
    throw new RejectError('not-json', `content-type: expected application/json, not ${JSON.stringify(type)}`);
  }
  const sent = jsonOf(bytes);
  return { body: readBy(schema, sent, 'body'), sent };
}

function jsonOf(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw notJson();
  }
  if (isNestedDeeper(text))
    throw new RejectError('invalid', `body: lists and objects are nested deeper than ${NESTING_MAX}`);
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

function notJson(): RejectError {
  return new RejectError('invalid', 'body: not valid JSON in UTF-8');
}
