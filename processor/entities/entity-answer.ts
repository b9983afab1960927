import type { EntityAnswer, EntityQuestion } from '../../ingest/entity-lookup.ts';
import type { Authority } from '../../ingest/entity-update.ts';
import type { EntityDocument } from './document.ts';
import { isOwnGroup } from './group.ts';
import { isOwnProfile } from './profile.ts';

/** Result of reading an entity; `provisional`: built only from the updates that wait for the store. */
export type ReadEntity =
  | { readonly kind: 'known'; readonly document: EntityDocument }
  | { readonly kind: 'provisional'; readonly document: EntityDocument }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unavailable' };

/** The answer to a question about an entity. */
export function entityAnswerOf(read: ReadEntity, { devices }: Pick<EntityQuestion, 'devices'>): EntityAnswer {
  if (read.kind === 'absent' || read.kind === 'unavailable') return { kind: read.kind };
  const answer = shown(read.document);
  // A provisional document lacks the devices that the store knows.
  if (answer.kind !== 'found' || devices === undefined || read.kind === 'provisional') return answer;
  return { ...answer, mayChange: isOwn(read.document, { kind: 'device', devices }) };
}

function isOwn(document: EntityDocument, authority: Authority): boolean {
  if (document.kind === 'profile') return isOwnProfile(document, { id: document.id, authority });
  return document.kind === 'group' && isOwnGroup(document, authority);
}

function shown(document: EntityDocument): EntityAnswer {
  const { id, createdAtMs, updatedAtMs } = document;
  if (document.kind === 'profile') {
    const { kind, firstName, lastName, email, avatar, groups, properties } = document;
    const record = {
      kind,
      id,
      firstName,
      lastName,
      email,
      avatar,
      properties,
      groups,
      createdAtMs,
      updatedAtMs,
    };
    return { kind: 'found', record };
  }
  if (document.kind === 'group') {
    const { kind, type, name, properties } = document;
    return { kind: 'found', record: { kind, id, type, name, properties, createdAtMs, updatedAtMs } };
  }
  if (document.kind === 'order' && document.answered !== undefined)
    return { kind: 'found', record: { kind: 'order', id, ...document.answered } };
  return { kind: 'absent' };
}
