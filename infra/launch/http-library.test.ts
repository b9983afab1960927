import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { projectRoot } from '../root.ts';
import { startHttp } from '../testing/loopback.ts';
import { checkHttpLibrary, HASH_LIST, hashOf, libraryFolder, readHashes } from './http-library.mjs';
import { compareWithOfficial } from './official-release.ts';

const OWN = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-library-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A project whose library is the one of this project, and its list. */
function copyOfProject(): void {
  const library = libraryFolder(folder);
  mkdirSync(library, { recursive: true });
  for (const name of ['package.json', 'uws.js', OWN])
    cpSync(join(libraryFolder(projectRoot), name), join(library, name));
  mkdirSync(join(folder, 'infra/launch'), { recursive: true });
  cpSync(join(projectRoot, HASH_LIST), join(folder, HASH_LIST));
  writeFileSync(join(folder, 'package.json'), '{}');
}

test('every installed binary is listed with its hash, and nothing else is listed', () => {
  const installed = readdirSync(libraryFolder(projectRoot)).filter((name) => name.endsWith('.node'));
  const hashes = installed.map((name): [string, string] => [
    name,
    hashOf(readFileSync(join(libraryFolder(projectRoot), name))),
  ]);
  expect(Object.fromEntries(readHashes(projectRoot))).toEqual(Object.fromEntries(hashes));
  expect(installed.length).toBeGreaterThan(50);
});

test('the binary of this machine is accepted', () => {
  copyOfProject();
  expect(() => checkHttpLibrary(folder)).not.toThrow();
});

test('a binary with one byte changed is refused by its hash, in one line', () => {
  copyOfProject();
  const path = join(libraryFolder(folder), OWN);
  const bytes = readFileSync(path);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  expect(() => checkHttpLibrary(folder)).toThrow(
    new RegExp(
      `^\\S+${OWN} is not the file that was checked: its SHA-256 is ${hashOf(bytes)}, listed as [^\\n]+\\.$`,
    ),
  );
});

test('a binary that is not listed is refused', () => {
  copyOfProject();
  writeFileSync(join(folder, HASH_LIST), `${'0'.repeat(64)}  another.node\n`);
  expect(() => checkHttpLibrary(folder)).toThrow(`not listed in ${HASH_LIST}`);
});

test('a hash is compared with the official file, and a file that cannot be had is no difference', async () => {
  const binary = Buffer.concat([Buffer.from('7f454c46', 'hex'), Buffer.alloc(5_000, 7)]);
  const server = await startHttp((request, response) => {
    if (request.url === '/v1/a.node') response.end(binary);
    else if (request.url === '/v1/page.node') response.end('<!doctype html>Please log in');
    else response.writeHead(404).end();
  });
  const release = `http://127.0.0.1:${server.port}/v1/`;
  const compare = (name: string, hash: string) => compareWithOfficial(release, name, hash);
  try {
    expect(await compare('a.node', hashOf(binary))).toEqual({ kind: 'same' });
    expect(await compare('a.node', '0'.repeat(64))).toEqual({ kind: 'differs', hash: hashOf(binary) });
    expect(await compare('b.node', '')).toEqual({ kind: 'missing', reason: 'status 404' });
    expect(await compare('page.node', '')).toEqual({ kind: 'missing', reason: 'the answer is no binary' });
  } finally {
    await server.stop();
  }
  expect(await compare('a.node', '')).toEqual({ kind: 'missing', reason: expect.any(String) });
});
