/** A piece of HTML: everything in it that is not ours is escaped. */
export interface Html {
  readonly html: string;
}

type Part = Html | string | number | undefined | readonly Part[];

const NAMES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML with values put in: texts and numbers escaped, pieces as they are, lists one after the other. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: texts.map((text, index) => text + render(parts[index])).join('') };
}

/** Our own HTML, style or script, as it stands. */
export function raw(text: string): Html {
  return { html: text };
}

/** A text in which what stands between backticks is code; empty lines begin a paragraph. */
export function prose(text: string): Html {
  const paragraphs = text.split(/\n{2,}/).filter((paragraph) => paragraph.trim() !== '');
  return { html: paragraphs.map((paragraph) => html`<p>${inline(paragraph)}</p>`.html).join('') };
}

/** The same within a line. */
export function inline(text: string): Html {
  const pieces = text.split('`');
  // An odd backtick has no fellow, and is a character like any other.
  const isPaired = pieces.length % 2 === 1;
  if (!isPaired) return html`${text}`;
  return {
    html: pieces
      .map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`).html)
      .join(''),
  };
}

function render(part: Part): string {
  if (part === undefined) return '';
  if (typeof part === 'string') return part.replace(/[&<>"']/g, (character) => NAMES[character] ?? '');
  if (typeof part === 'number') return String(part);
  if ('html' in part) return part.html;
  return part.map(render).join('');
}
