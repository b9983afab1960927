// Builds the dashboard into dist/ and fails if its first load exceeds its size limit. Run by `npm run build`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { projectRoot, reportSize } from '../../infra/http/browser-script.mjs';

/** Maximum size of all files that a page needs before it shows figures, in bytes of gzip at level 9. */
export const GZIP_MAX_BYTES = 122_880;

const SCRIPT = 'query/dashboard/app/main.tsx';
const STYLE = 'query/dashboard/app/styles/dashboard.css';

/**
 * Builds the page, `page.html`, and the files that it loads, `files/`, into `folder`. The names of files contain a hash of their
 * content. Returns the size of the first load: the page, its style, its script and the script's static imports.
 * @param {string} folder
 * @returns {import('../../infra/http/browser-script.mjs').ScriptSize}
 */
export function buildDashboard(folder) {
  const files = join(folder, 'files');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(files, { recursive: true });
  const { metafile, outputFiles } = buildSync({
    entryPoints: [SCRIPT, STYLE],
    absWorkingDir: projectRoot,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    outdir: files,
    tsconfigRaw: '{}',
    metafile: true,
    logLevel: 'warning',
    write: false,
  });
  const contents = new Map(outputFiles.map(({ path, contents: bytes }) => [basename(path), bytes]));
  for (const [name, bytes] of contents) writeFileSync(join(files, name), bytes);
  const madeFrom = (/** @type {string} */ entry) => {
    const [path] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry) ?? [];
    if (path === undefined) throw new Error(`esbuild made nothing from ${entry}`);
    return path;
  };
  const style = basename(madeFrom(STYLE));
  const scripts = staticImports(metafile.outputs, madeFrom(SCRIPT)).map((path) => basename(path));
  const page = pageText(style, scripts);
  writeFileSync(join(folder, 'page.html'), page);
  const first = [
    Buffer.from(page),
    ...[style, ...scripts].map((name) => contents.get(name) ?? new Uint8Array()),
  ];
  return {
    rawBytes: first.reduce((sum, { byteLength }) => sum + byteLength, 0),
    gzipBytes: first.reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).byteLength, 0),
  };
}

/**
 * A script and everything that it imports before it runs, itself first.
 * @param {import('esbuild').Metafile['outputs']} outputs
 * @param {string} entry
 */
function staticImports(outputs, entry) {
  const found = new Set([entry]);
  for (const path of found)
    for (const { path: imported, kind } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement') found.add(imported);
  return [...found];
}

/**
 * All addresses are relative, so that the page also works below a path of a reverse proxy.
 * @param {string} style
 * @param {readonly string[]} scripts
 */
function pageText(style, [script, ...imported]) {
  const preloads = imported.map((name) => `<link rel="modulepreload" href="dashboard/${name}">\n`).join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>footfall</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="dashboard/${style}">
${preloads}<script type="module" src="dashboard/${script}"></script>
</head>
<body>
<div id="app"></div>
<noscript><p class="notice">The dashboard needs JavaScript. The figures are also answered by the <a href="documentation">API</a>.</p></noscript>
</body>
</html>
`;
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === resolve(process.argv[1]))
  reportSize('dashboard', buildDashboard(join(projectRoot, 'dist/query/dashboard')), GZIP_MAX_BYTES);
