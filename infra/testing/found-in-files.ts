import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * The files below a folder that contain one of `texts` as bytes: as it is, as hexadecimal digits, in JSON or a URL, or
 * in base64 of a longer text. Relative paths with the text, in the order of their names.
 */
export function foundInFiles(folder: string, texts: readonly (string | Uint8Array)[]): string[] {
  const needles = texts.map((text) => ({ text, forms: formsOf(text) }));
  return filesBelow(folder).flatMap((path) => {
    const bytes = read(path);
    return needles
      .filter(({ forms }) => forms.some((form) => bytes.includes(form)))
      .map(({ text }) => `${relative(folder, path)}: ${typeof text === 'string' ? text : hex(text)}`);
  });
}

function formsOf(text: string | Uint8Array): readonly Buffer[] {
  const bytes = Buffer.from(text);
  const forms = [bytes, Buffer.from(hex(bytes)), Buffer.from(hex(bytes).toUpperCase())];
  if (typeof text === 'string') {
    forms.push(Buffer.from(JSON.stringify(text).slice(1, -1)));
    forms.push(Buffer.from(encodeURIComponent(text)));
  }
  // Three bytes are four characters: the text may begin at each of three places, and its edges mix with the bytes around it.
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]);
    const first = Math.ceil((before * 4) / 3);
    const last = Math.floor((encoded.length * 4) / 3) - ((encoded.length * 4) % 3 === 0 ? 0 : 1);
    for (const encoding of ['base64', 'base64url'] as const)
      forms.push(Buffer.from(encoded.toString(encoding).slice(first, last)));
  }
  return forms;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** Regular files only: reading a pipe would wait for a writer. */
function filesBelow(folder: string): string[] {
  return listed(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return filesBelow(path);
    return found?.isFile() ? [path] : [];
  });
}

// Servers remove files meanwhile.
function listed(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}
