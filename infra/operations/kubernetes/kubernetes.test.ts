import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2';
import type { Service } from 'kubernetes-types/core/v1';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../config.ts';
import { projectRoot } from '../../root.ts';
import {
  containerOf,
  manifests,
  manifestsText,
  ofKind,
  sharedSettings,
  workloads,
} from '../../testing/kubernetes-manifests.ts';

// No cluster reads the manifests here. The types of the API check every field of them, and everything that they name has to exist.

/** The compiler's errors for objects as values of the types of the API, in which an unknown field is an error. */
function problemsOf(all: readonly object[]): string {
  const source = all
    .map((manifest, index) => {
      const { apiVersion, kind } = manifest as { readonly apiVersion: string; readonly kind: string };
      const [, group = 'core', version = ''] = /^(?:(\w+)\/)?(\w+)$/.exec(apiVersion) ?? [];
      return `import type { ${kind} as Kind${index} } from 'kubernetes-types/${group}/${version}';
export const manifest${index}: Kind${index} = ${JSON.stringify(manifest)};`;
    })
    .join('\n');
  // Below the project, where the compiler finds the package.
  mkdirSync(join(projectRoot, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(projectRoot, '.cache/manifests-'));
  try {
    writeFileSync(join(folder, 'manifests.ts'), source);
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
      '--types',
      '',
    ];
    const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [compiler, '--ignoreConfig', ...options, 'manifests.ts'], {
      cwd: folder,
      encoding: 'utf8',
    });
    return '';
  } catch (error) {
    return String((error as { readonly stdout?: string }).stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('the types of the API accept every field', () => {
  expect(manifests.length).toBeGreaterThan(7);
  expect(problemsOf(manifests)).toBe('');
  const [first] = workloads;
  expect(problemsOf([{ ...first, spec: { ...first?.spec, replica: 3 } }])).toMatch(
    /replica\W+ does not exist/,
  );
}, 60_000);

test('selectors, ports and settings are those of what they name', () => {
  expect(workloads.map(({ metadata }) => metadata?.name)).toEqual(['footfall-web', 'footfall-processor']);
  const labels = workloads.map(({ spec }) => spec?.template.metadata?.labels?.app);
  for (const workload of workloads)
    expect(workload.spec?.selector.matchLabels).toEqual(workload.spec?.template.metadata?.labels);
  for (const { spec } of ofKind<PodDisruptionBudget>('PodDisruptionBudget'))
    expect(labels).toContain(spec?.selector?.matchLabels?.app);
  for (const { spec } of ofKind<HorizontalPodAutoscaler>('HorizontalPodAutoscaler'))
    expect(labels).toContain(spec?.scaleTargetRef.name);
  for (const { spec } of ofKind<Service>('Service')) {
    const { ports = [] } = containerOf(spec?.selector?.app ?? '');
    for (const { targetPort } of spec?.ports ?? [])
      expect(ports.map(({ name }) => name)).toContain(targetPort);
  }
  const named = [
    ...Object.keys(sharedSettings()),
    ...labels.flatMap((name) => containerOf(name ?? '').env?.map((setting) => setting.name) ?? []),
    ...[...manifestsText.matchAll(/--from-literal=(\w+)=/g)].map(([, name]) => name ?? ''),
  ];
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !Object.hasOwn(SETTINGS, name))).toEqual([]);
});

test('every secret that a workload needs is one that the first lines make', () => {
  const made = [...manifestsText.matchAll(/kubectl create secret generic (\S+)/g)].map(([, name]) => name);
  const needed = workloads.flatMap(({ metadata }) =>
    (containerOf(metadata?.name ?? '').envFrom ?? []).flatMap(({ secretRef }) => secretRef?.name ?? []),
  );
  expect([...new Set(needed)].sort()).toEqual(made.sort());
});

test('a pod that is stopped has time to wait for proxies, and then to finish its requests', () => {
  for (const { metadata, spec } of workloads) {
    const { env, readinessProbe } = containerOf(metadata?.name ?? '');
    const waitS = Number(env?.find(({ name }) => name === 'DRAIN_WAIT_MS')?.value ?? '0') / 1_000;
    expect(spec?.template.spec?.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(waitS + 18);
    const { periodSeconds = 10, failureThreshold = 3 } = readinessProbe ?? {};
    if (waitS > 0) expect(waitS).toBeGreaterThan(periodSeconds * failureThreshold);
  }
});
