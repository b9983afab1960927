import { z } from 'zod';
import { SESSION_END, SESSION_START } from './event.ts';
import { DEPTH_MAX, DEVICE_ID_MAX, KEY_MAX, KEYS_MAX, VALUE_MAX_BYTES } from './properties.ts';
import { parseInstant } from './timestamp.ts';
import { EVENT_ID_MAX, GROUPS_MAX, IDENTITY_MAX, NAME_MAX, type TrackBody } from './track-request.ts';

/**
 * The body of `POST /track` as a schema: what the API documentation is made from, and what the hand-written
 * `track-request.ts` is held against.
 */
const whole = z.string().refine((text) => !/[\0\p{Cs}]/u.test(text), 'holds NUL or a lone surrogate');
const optionalText = (max: number) => whole.max(max).nullish();
const identity = optionalText(IDENTITY_MAX);

const reserved = {
  __path: whole.nullish(),
  __referrer: whole.nullish(),
  __title: whole.nullish(),
  __ip: whole.nullish(),
  __deviceId: whole.min(1).max(DEVICE_ID_MAX).nullish(),
  __timestamp: z
    .union([z.string(), z.number()])
    .transform((value, context) => {
      const ms = parseInstant(value);
      if (ms === undefined) context.addIssue('not a time');
      return ms;
    })
    .nullish(),
};
const reservedSchema = z.object(reserved);
const RESERVED_NAMES = [
  ...Object.keys(reserved),
  '__amount',
  '__currency',
  '__orderId',
  '__refund',
  '__revenue',
];

const leaf = z.union([
  whole.refine((text) => Buffer.byteLength(text) <= VALUE_MAX_BYTES),
  z.number().transform(String),
  z.boolean().transform(String),
]);

const propertiesSchema = z
  .custom<Record<string, unknown>>((value) => z.record(z.string(), z.unknown()).safeParse(value).success)
  .transform((properties, context) => {
    const values = new Map<string, string>();
    let leaves = 0;
    for (const [path, value] of leavesOf(properties)) {
      const parsed = leaf.safeParse(value);
      leaves += 1;
      const key = path.join('.');
      if (!parsed.success || path.length > DEPTH_MAX || key.length > KEY_MAX || !whole.safeParse(key).success)
        context.addIssue({ code: 'custom', message: 'not a property', path });
      else values.set(key, parsed.data);
    }
    if (leaves > KEYS_MAX) context.addIssue('too many keys');
    const parsed = reservedSchema.safeParse(properties);
    if (!parsed.success) context.addIssue('a reserved property is wrong');
    return { flat: [...values].flat(), reserved: parsed.data };
  });

const trackPayload = z.object({
  name: whole
    .min(1)
    .max(NAME_MAX)
    .refine((name) => name !== SESSION_START && name !== SESSION_END, 'recorded by the service itself'),
  properties: propertiesSchema.nullish(),
  profileId: z.union([whole.max(IDENTITY_MAX), z.number().transform(String)]).nullish(),
  groups: z.array(whole.max(IDENTITY_MAX)).max(GROUPS_MAX).nullish(),
  eventId: whole.min(1).max(EVENT_ID_MAX).nullish(),
});

export const trackSchema = z
  .object({
    type: z.literal('track'),
    payload: trackPayload,
    clientId: identity,
    clientSecret: identity,
    projectId: identity,
  })
  .transform(({ payload, ...body }): TrackBody => {
    const named = payload.properties?.reserved;
    return {
      kind: 'track',
      clientId: body.clientId ?? '',
      clientSecret: body.clientSecret ?? '',
      projectId: body.projectId ?? '',
      name: payload.name,
      profileId: payload.profileId ?? '',
      eventId: payload.eventId ?? '',
      groups: payload.groups ?? [],
      properties: payload.properties?.flat ?? [],
      path: named?.__path ?? '',
      referrer: named?.__referrer ?? '',
      title: named?.__title ?? '',
      timestampMs: named?.__timestamp ?? undefined,
      deviceId: named?.__deviceId ?? '',
      address: named?.__ip ?? '',
    };
  });

/** Every leaf below the free properties, and every object that lies too deep, which no leaf schema takes. */
function* leavesOf(properties: Readonly<Record<string, unknown>>): Generator<[string[], unknown]> {
  for (const [key, value] of Object.entries(properties)) {
    if (!RESERVED_NAMES.includes(key)) yield* below([key], value);
  }
}

function* below(path: string[], value: unknown): Generator<[string[], unknown]> {
  if (value === null) return;
  if (typeof value !== 'object' || path.length >= DEPTH_MAX) {
    yield [path, value];
    return;
  }
  for (const [key, inner] of Object.entries(value)) yield* below([...path, key], inner);
}
