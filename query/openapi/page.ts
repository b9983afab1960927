import { type Html, html, inline, prose, raw } from './html.ts';
import type { OpenApiDocument } from './open-api.ts';
import type { Tag } from './operation.ts';
import { valueShown } from './page-fields.ts';
import { code, operationShown, type Placed } from './page-operation.ts';
import { PAGE_SCRIPT } from './page-script.ts';
import { PAGE_STYLE } from './page-style.ts';

/** The description of the interface for people: one page of HTML that asks for nothing else. */
export function documentationPage(document: OpenApiDocument): string {
  const { info, tags } = document;
  const sections = tags.map(({ name, description }) => ({
    name,
    description,
    placed: placedOf(document, name),
  }));
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}: HTTP interface</title>
<link rel="icon" href="data:,">
<link rel="alternate" type="application/json" href="openapi.json">
<style>${raw(PAGE_STYLE)}</style>
</head>
<body>
<header>
<a class="skip" href="#content">Skip to the content</a>
<h1>${info.title}: HTTP interface</h1>
<p>Release ${info.version}. For programs: <a href="openapi.json">openapi.json</a>.</p>
</header>
<nav aria-label="Contents">
<label id="filter" hidden>Find by words of path or summary <input type="search" autocomplete="off"></label>
<output id="found" class="quiet"></output>
<ul>
<li><a href="#begin">Before the first request</a></li>
${sections.map(({ name, placed }) => contentsOf(name, placed))}
<li><a href="#objects">Objects</a></li>
</ul>
</nav>
<main id="content" tabindex="-1">
${begin(document)}
${sections.map(
  ({ name, description, placed }) => html`<section aria-labelledby="${idOf(name)}">
<h2 id="${idOf(name)}">${name}</h2>
${prose(description)}
${placed.map((one) => operationShown(document, one))}
</section>`,
)}
${objects(document)}
</main>
<script>${raw(PAGE_SCRIPT)}</script>
</body>
</html>
`;
  return page.html;
}

function placedOf({ paths }: OpenApiDocument, tag: Tag): Placed[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([method, operation]) => ({ path, method, operation })),
  );
}

function contentsOf(tag: Tag, placed: readonly Placed[]): Html {
  const entries = placed.map(
    ({ path, method, operation: { operationId } }) =>
      html`<li data-of="${operationId}"><a href="#${operationId}">${method.toUpperCase()} ${path}</a></li>`,
  );
  return html`<li><a href="#${idOf(tag)}">${tag}</a>
<details><summary>Paths of ${tag} (${placed.length})</summary><ul>${entries}</ul></details></li>`;
}

function begin({ info, components }: OpenApiDocument): Html {
  const headers = Object.values(components.securitySchemes).map(
    ({ name, description }) => html`<li><code>${name}</code>: ${inline(description)}</li>`,
  );
  return html`<section aria-labelledby="begin">
<h2 id="begin">Before the first request</h2>
${prose(info.description)}
<p>A client says who it is by two headers:</p>
<ul>${headers}</ul>
<p>The requests below are for a shell in which these are set, the last two to a client that may:</p>
${code('Settings of a shell', 'URL=http://127.0.0.1:3000\nID=3b1f6c52-94a7-4f0e-8d35-6a2c9be0417d\nSECRET=sec_…')}
</section>`;
}

function objects({ components }: OpenApiDocument): Html {
  const shown = Object.entries(components.schemas).map(
    ([name, schema]) => html`<section aria-labelledby="schema-${name}">
<h3 id="schema-${name}">${name}</h3>
${valueShown(schema)}
</section>`,
  );
  return html`<section aria-labelledby="objects">
<h2 id="objects">Objects</h2>
<p>What the sections above refer to by name.</p>
${shown}
</section>`;
}

function idOf(tag: Tag): string {
  return `section-${tag.toLowerCase()}`;
}
