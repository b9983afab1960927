import { randomUUID } from 'node:crypto';
import { clientKeyOf, siteKeyOf, siteSchema, teamKeyOf } from '../../../../infra/accounts/accounts.ts';
import { createSecret, hashSecret } from '../../../../infra/accounts/client-auth.ts';
import type { Bus } from '../../../../infra/bus/bus.ts';
import { erasureKeyOf } from '../../../../processor/erasure.ts';
import type { ClientKey } from '../../testing/manage-service.ts';
import type { ControlEntry } from '../control-plane.ts';

const AT = '2026-01-01T00:00:00.000Z';
const made = { createdAt: AT, updatedAt: AT };

export function entry(bucket: ControlEntry['bucket'], key: string, value: unknown): ControlEntry {
  return { bucket, key, bytes: Buffer.from(JSON.stringify(value)) };
}

export function teamEntry(id: string): ControlEntry {
  return entry('control', teamKeyOf(id), { id, name: `Team ${id}`, createdAt: AT });
}

export function siteEntry(id: string, teamId: string, more: object = {}): ControlEntry {
  return entry('control', siteKeyOf(id), siteSchema.parse({ id, teamId, name: id, ...made, ...more }));
}

export function aliasEntry(projectId: string, alias: string, profileId: string): ControlEntry {
  const [site, name] = [projectId, alias].map((text) => Buffer.from(text).toString('base64url'));
  return entry('aliases', `${site}.${name}`, {
    version: 1,
    projectId,
    alias,
    profileId,
    verified: true,
    createdAt: null,
  });
}

export function erasureEntry(id: string, projectId: string, status: 'waiting' | 'done'): ControlEntry {
  const person = status === 'done' ? null : 'ada';
  return entry('control', erasureKeyOf(id), {
    id,
    teamId: 'team',
    projectId,
    storedId: projectId,
    status,
    profileId: person,
    profileDigest: '0'.repeat(64),
    createdAt: AT,
    updatedAt: AT,
  });
}

/** A client record and its credentials. */
export async function clientEntry(
  type: 'root' | 'read' | 'write',
  teamId: string,
  projectId: string | null,
): Promise<{ readonly key: ClientKey; readonly entry: ControlEntry }> {
  const id = randomUUID();
  const secret = createSecret();
  const client = { id, name: type, type, projectId, teamId, ...made, secretHash: hashSecret(secret) };
  return { key: { id, secret }, entry: entry('control', clientKeyOf(id), client) };
}

/** A reference, a dashboard, a segment, a goal, and two entries of a kind that this version does not know. */
export function keptEntries(projectId: string): ControlEntry[] {
  const [reference, dashboard, segment, goal] = Array.from({ length: 4 }, () => randomUUID());
  const about = { projectId, storedId: projectId, ...made };
  return [
    entry('control', `reference.${reference}`, {
      id: reference,
      ...about,
      title: 'Relaunch',
      description: '„neu“ \u{1F680}',
      date: AT,
    }),
    entry('control', `dashboard.${dashboard}`, { id: dashboard, ...about, name: 'Board' }),
    entry('control', `segment.${segment}`, {
      id: segment,
      ...about,
      name: 'Searching',
      filters: [{ name: 'referrer_type', operator: 'is', value: ['search'] }],
    }),
    entry('control', `goal.${goal}`, {
      id: goal,
      ...about,
      ...{ name: 'Thanks', type: 'page', event: null, path: '/thanks*', filters: [], value: 9.5 },
    }),
    entry('control', 'wish.1', { id: 1, of: ['later', null, 0.5] }),
    { bucket: 'control', key: 'wish.2', bytes: Uint8Array.of(0, 255, 128, 10) },
  ];
}

/** Writes entries, replacing existing values. */
export async function store(bus: Bus, entries: readonly ControlEntry[]): Promise<void> {
  for (const { bucket: name, key, bytes } of entries) {
    const bucket = await bus.keyed(name);
    await bucket.put(key, bytes, (await bucket.get(key))?.revision ?? 0);
  }
}
