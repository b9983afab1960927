import { bodyOf, curlOf } from './curl.ts';
import { type Html, html, inline, prose } from './html.ts';
import type {
  MediaType,
  OpenApiDocument,
  OperationObject,
  ParameterObject,
  Reference,
  ResponseObject,
} from './open-api.ts';
import { typeShown, valueShown } from './page-fields.ts';

/** An operation with where it is. */
export interface Placed {
  readonly path: string;
  readonly method: string;
  readonly operation: OperationObject;
}

/** Everything about one operation. */
export function operationShown(document: OpenApiDocument, placed: Placed): Html {
  const { path, method, operation } = placed;
  const { operationId, summary, description, parameters, requestBody } = operation;
  const words = `${method} ${path} ${summary}`.toLowerCase();
  const body = requestBody?.content['application/json'];
  return html`<article id="${operationId}" data-words="${words}" aria-labelledby="${operationId}-title">
<h3 id="${operationId}-title">${inline(summary)}</h3>
<p class="route"><span class="method">${method.toUpperCase()}</span> <code>${path}</code></p>
${prose(description)}
<p class="quiet">${accessShown(operation)}</p>
${parameters.length === 0 ? undefined : parametersShown(operationId, parameters)}
${body === undefined ? undefined : html`<h4>Body</h4>${mediaShown(body, undefined)}`}
<h4>Request</h4>
${code('Request', curlOf(path, method, operation))}
${furtherBodies(body)}
${answersOf(document, operation).map(answerShown)}
${refusalsShown(document, operation)}
</article>`;
}

function accessShown({ security }: OperationObject): string {
  if (security.length === 0) return 'For everybody; no client is asked for.';
  if (security.length === 1) return 'For a client with its secret.';
  return 'For a client with its secret, and for pages of the origins that the site lists with the id of a client.';
}

function parametersShown(id: string, parameters: readonly ParameterObject[]): Html {
  const rows = parameters.map(
    ({ name, in: place, required, schema = content(parameters, name), description }) => html`<tr>
<th scope="row"><code>${name}</code></th>
<td>${place}${required === true ? html`, required` : undefined}</td>
<td class="type">${typeShown(schema)}${schema.default === undefined ? undefined : html`; else ${String(schema.default)}`}</td>
<td>${description === undefined ? undefined : inline(description)}</td>
</tr>`,
  );
  return html`<h4 id="${id}-parameters">Parameters</h4>
<div class="scroll" tabindex="0" role="region" aria-labelledby="${id}-parameters">
<table aria-labelledby="${id}-parameters"><thead><tr><th scope="col">Name</th><th scope="col">Where</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

/** The schema of a parameter whose text is JSON. */
function content(parameters: readonly ParameterObject[], name: string) {
  const parameter = parameters.find((one) => one.name === name);
  return parameter?.content?.['application/json']?.schema ?? {};
}

function mediaShown({ schema }: MediaType, example: unknown): Html {
  return html`${schema === undefined ? undefined : valueShown(schema)}${
    example === undefined ? undefined : code('Example', textOf(example))
  }`;
}

/** The bodies of a request that has several kinds, folded. */
function furtherBodies(body: MediaType | undefined): Html | undefined {
  if (body?.examples === undefined) return undefined;
  const shown = Object.entries(body.examples).map(
    ([name, { value }]) =>
      html`<details><summary>Body: <code>${name}</code></summary>${code(`Body: ${name}`, textOf(value))}</details>`,
  );
  return html`${shown}`;
}

interface Answer {
  readonly status: string;
  readonly response: ResponseObject;
}

function answersOf(document: OpenApiDocument, { responses }: OperationObject): Answer[] {
  return Object.entries(responses)
    .filter(([, response]) => !('$ref' in response))
    .map(([status, response]) => ({ status, response: resolved(document, response) }));
}

function answerShown({ status, response }: Answer): Html {
  const [[type, media] = ['', {}]] = Object.entries(response.content ?? {});
  const isJson = type === 'application/json';
  return html`<h4>Answer ${status}</h4>
<p>${inline(response.description)}${isJson || type === '' ? undefined : html` <code>${type}</code>`}</p>
${mediaShown(isJson ? media : {}, bodyOf(media))}`;
}

function refusalsShown(
  document: OpenApiDocument,
  { operationId, responses }: OperationObject,
): Html | undefined {
  const refusals = Object.entries(responses).filter(([, response]) => '$ref' in response);
  if (refusals.length === 0) return undefined;
  const rows = refusals.map(
    ([status, response]) =>
      html`<tr><th scope="row">${status}</th><td>${inline(resolved(document, response).description)}</td></tr>`,
  );
  return html`<h4 id="${operationId}-refusals">Refusals</h4>
<details><summary>${refusals.map(([status], index) => `${index === 0 ? '' : ', '}${status}`)}</summary>
<table aria-labelledby="${operationId}-refusals"><thead><tr><th scope="col">Status</th><th scope="col">When</th></tr></thead><tbody>${rows}</tbody></table>
<p>With the body of an <a href="#schema-Error">Error</a>.</p></details>`;
}

function resolved({ components }: OpenApiDocument, response: ResponseObject | Reference): ResponseObject {
  if (!('$ref' in response)) return response;
  const name = response.$ref.slice(response.$ref.lastIndexOf('/') + 1);
  return components.responses[name] ?? { description: name };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

/** Text to be read as it stands, in a box that the keyboard can scroll. */
export function code(label: string, text: string): Html {
  return html`<pre tabindex="0" role="group" aria-label="${label}"><code>${text}</code></pre>`;
}
