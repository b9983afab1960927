import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2';
import type { ConfigMap, Container, Service } from 'kubernetes-types/core/v1';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1';
import { parseAllDocuments } from 'yaml';
import { must } from '../assert.ts';
import { projectRoot } from '../root.ts';

export type Workload = Deployment | StatefulSet;
export type Manifest = Workload | HorizontalPodAutoscaler | ConfigMap | Service | PodDisruptionBudget;

/** The manifests for Kubernetes as the file contains them. */
export const manifestsText: string = readFileSync(
  join(projectRoot, 'infra/operations/kubernetes/footfall.yaml'),
  'utf8',
);

/** The same as objects; a test compares them with the types. */
export const manifests: readonly Manifest[] = parseAllDocuments(manifestsText).map(
  (document) => document.toJS() as Manifest,
);

/** The manifests of one kind. */
export function ofKind<Kind extends Manifest>(kind: NonNullable<Kind['kind']>): readonly Kind[] {
  return manifests.filter((manifest): manifest is Kind => manifest.kind === kind);
}

export const workloads: readonly Workload[] = [
  ...ofKind<Deployment>('Deployment'),
  ...ofKind<StatefulSet>('StatefulSet'),
];

/** The settings that all pods share. */
export function sharedSettings(): Readonly<Record<string, string>> {
  return must(ofKind<ConfigMap>('ConfigMap')[0]?.data, 'settings');
}

/** The one container of a workload. */
export function containerOf(name: string): Container {
  const workload = workloads.find(({ metadata }) => metadata?.name === name);
  return must(workload?.spec?.template.spec?.containers[0], `a container of ${name}`);
}
