import { expect, test } from 'vitest';
import { projectRoot } from '../root.ts';
import { readHashes } from './http-library.mjs';
import { SUPPORTED_NODES } from './node-version.mjs';
import { compareWithOfficial, OFFICIAL_RELEASE } from './official-release.ts';

// Runs over the network, so it reports what could be compared and fails only on a difference.

/** The binaries that footfall can load: some 7 MB each. */
const LOADED = SUPPORTED_NODES.flatMap(({ abi }) =>
  ['x64', 'arm64'].map((arch) => `uws_linux_${arch}_${abi}.node`),
);

test('the listed binaries are those of the official release, where these can be had', async ({ skip }) => {
  const hashes = readHashes(projectRoot);
  const compared = await Promise.all(
    LOADED.map(async (name) => ({
      name,
      ...(await compareWithOfficial(OFFICIAL_RELEASE, name, hashes.get(name) ?? '')),
    })),
  );
  for (const one of compared) process.stdout.write(`official release: ${JSON.stringify(one)}\n`);
  expect(compared.filter(({ kind }) => kind === 'differs')).toEqual([]);
  const missing = compared.filter(({ kind }) => kind === 'missing').length;
  if (missing === compared.length) skip('no official file could be had, so only the list was compared');
});
