import { z } from 'zod';
import { unreachable } from '../infra/assert.ts';
import { decimalText } from '../infra/money.ts';
import { isReferrer } from './enrich/referrer.ts';
import { NO_SOFTWARE_CLAIM, softwareClaimOf } from './enrich/software-claim.ts';
import { USER_AGENT_MAX } from './enrich/user-agent-version.ts';
import { SESSION_END, SESSION_START } from './event.ts';
import { AVATAR_MAX, ENTITY_TEXT_MAX, GROUP_IDS_MAX, STEP_MAX } from './request/entity-payload.ts';
import { KEY_MAX } from './request/properties.ts';
import { identity, propertiesSchema, revenueSchema, wholeText } from './request/properties-schema.ts';
import { claimsRevenue } from './request/revenue-claim.ts';
import { IDENTITY_MAX } from './request/sender-claims.ts';
import { type AcceptedBody, BATCH_MAX, EVENT_ID_MAX, GROUPS_MAX, NAME_MAX } from './request/track-request.ts';

/** Maximum length of an id that a sender chooses, for rooms that look up such ids. */
export const ID_MAX_CHARACTERS = IDENTITY_MAX;

/**
 * The bodies of `POST /track` and `POST /track/batch` as schemas. The API documentation is generated from them, and a
 * test compares them with the hand-written `track-request.ts`.
 */
const optionalText = (max: number) => wholeText.max(max).nullish();
const optionalIdentity = z.union([wholeText.max(IDENTITY_MAX), z.number().transform(String)]).nullish();
const eventId = wholeText.min(1).max(EVENT_ID_MAX).nullish();
const groupText = wholeText.min(1).max(ENTITY_TEXT_MAX);

const trackPayload = z
  .object({
    name: wholeText
      .min(1)
      .max(NAME_MAX)
      .refine((name) => name !== SESSION_START && name !== SESSION_END, 'recorded by the service itself'),
    properties: propertiesSchema.nullish(),
    profileId: optionalIdentity,
    groups: z.array(wholeText.max(IDENTITY_MAX)).max(GROUPS_MAX).nullish(),
    eventId,
  })
  .transform((payload, context) => {
    const named = payload.properties?.reserved ?? {};
    if (!isReferrer(payload.properties?.reserved?.__referrer ?? '')) context.addIssue('no referrer');
    if (!claimsRevenue(payload.name, named)) return { ...payload, revenue: undefined };
    const revenue = revenueSchema.safeParse(named);
    if (!revenue.success) context.addIssue('no revenue');
    return { ...payload, revenue: revenue.data };
  });

const identifyPayload = z.object({
  profileId: identity,
  firstName: optionalText(ENTITY_TEXT_MAX),
  lastName: optionalText(ENTITY_TEXT_MAX),
  email: optionalText(ENTITY_TEXT_MAX),
  avatar: optionalText(AVATAR_MAX),
  properties: propertiesSchema.nullish(),
  eventId,
});

const stepPayload = z.object({
  profileId: identity,
  property: wholeText.min(1).max(KEY_MAX),
  value: z
    .number()
    .gt(0)
    .transform(decimalText)
    .refine((text) => text.length <= STEP_MAX)
    .nullish(),
  eventId,
});

const groupPayload = z.object({
  id: identity,
  type: groupText,
  name: groupText,
  properties: propertiesSchema.nullish(),
  eventId,
});

const assignGroupPayload = z.object({
  groupIds: z.array(wholeText.min(1).max(IDENTITY_MAX)).min(1).max(GROUP_IDS_MAX),
  profileId: optionalIdentity,
  eventId,
});

const aliasPayload = z
  .object({ profileId: identity, alias: identity, eventId })
  .refine(({ profileId, alias }) => alias !== profileId, 'an alias of itself');

const claims = {
  clientId: optionalText(IDENTITY_MAX),
  clientSecret: optionalText(IDENTITY_MAX),
  projectId: optionalText(IDENTITY_MAX),
  eventId,
};

const sentBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('track'), payload: trackPayload, ...claims }),
  z.object({ type: z.literal('identify'), payload: identifyPayload, ...claims }),
  z.object({ type: z.literal('increment'), payload: stepPayload, ...claims }),
  z.object({ type: z.literal('decrement'), payload: stepPayload, ...claims }),
  z.object({ type: z.literal('group'), payload: groupPayload, ...claims }),
  z.object({ type: z.literal('assign_group'), payload: assignGroupPayload, ...claims }),
  z.object({ type: z.literal('alias'), payload: aliasPayload, ...claims }),
  z.object({ type: z.literal('replay'), payload: z.looseObject({}), ...claims }),
]);
type SentBody = z.output<typeof sentBody>;

/** One body. */
export const bodySchema = sentBody.transform(acceptedBody);

/** A batch; each element is checked by `bodySchema` on its own. */
export const batchSchema = z.array(z.unknown()).min(1).max(BATCH_MAX);

function acceptedBody(sent: SentBody): AcceptedBody {
  const inPayload = sent.type === 'replay' ? undefined : sent.payload.eventId;
  const head = {
    clientId: sent.clientId ?? '',
    clientSecret: sent.clientSecret ?? '',
    projectId: sent.projectId ?? '',
    eventId: inPayload ?? sent.eventId ?? '',
  };
  switch (sent.type) {
    case 'track':
      return { kind: 'track', ...head, ...trackFields(sent.payload) };
    case 'identify':
      return { kind: 'identify', ...head, ...identifyFields(sent.payload) };
    case 'increment':
    case 'decrement': {
      const { profileId, property, value } = sent.payload;
      const step = (sent.type === 'increment' ? '' : '-') + (value ?? '1');
      return { kind: 'step', ...head, ...NO_ORIGIN, profileId, property, step };
    }
    case 'group': {
      const { id, type, name, properties } = sent.payload;
      return { kind: 'group', ...head, id, type, name, ...originAndFree(properties) };
    }
    case 'assign_group': {
      const { groupIds, profileId } = sent.payload;
      return { kind: 'assign_group', ...head, ...NO_ORIGIN, groupIds, profileId: profileId ?? '' };
    }
    case 'alias': {
      const { profileId, alias } = sent.payload;
      return { kind: 'alias', ...head, ...NO_ORIGIN, profileId, alias };
    }
    case 'replay':
      return { kind: 'replay', ...head, ...NO_ORIGIN };
    default:
      return unreachable(sent);
  }
}

const NO_ORIGIN = { deviceId: '', address: '', userAgent: '', software: NO_SOFTWARE_CLAIM };
type ParsedProperties = z.output<typeof propertiesSchema> | null | undefined;

function originAndFree(properties: ParsedProperties) {
  const named = properties?.reserved;
  return {
    deviceId: named?.__deviceId ?? '',
    address: named?.__ip ?? '',
    userAgent: (named?.__userAgent ?? '').slice(0, USER_AGENT_MAX),
    software: softwareClaimOf({
      os: named?.__os ?? '',
      osVersion: named?.__osVersion ?? '',
      browser: named?.__browser ?? '',
      browserVersion: named?.__browserVersion ?? '',
      device: named?.__device ?? '',
      brand: named?.__brand ?? '',
      model: named?.__model ?? '',
    }),
    properties: properties?.flat ?? [],
  };
}

function trackFields({ name, profileId, groups, properties, revenue }: z.output<typeof trackPayload>) {
  const named = properties?.reserved;
  return {
    name,
    profileId: profileId ?? '',
    groups: groups ?? [],
    revenue,
    path: named?.__path ?? '',
    referrer: named?.__referrer ?? '',
    title: named?.__title ?? '',
    language: named?.__language ?? '',
    timezone: named?.__timezone ?? '',
    screen: named?.__screen ?? '',
    timestampMs: named?.__timestamp ?? undefined,
    ...originAndFree(properties),
  };
}

function identifyFields(payload: z.output<typeof identifyPayload>) {
  return {
    profileId: payload.profileId,
    firstName: payload.firstName ?? undefined,
    lastName: payload.lastName ?? undefined,
    email: payload.email ?? undefined,
    avatar: payload.avatar ?? undefined,
    ...originAndFree(payload.properties),
  };
}
