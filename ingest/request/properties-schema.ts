import { z } from 'zod';
import { decimalText, isCurrency, isWithinMinorUnits } from '../../infra/money.ts';
import { deviceKindOf } from '../enrich/user-agent-device.ts';
import { DEPTH_MAX, DEVICE_ID_MAX, KEY_MAX, KEYS_MAX, VALUE_MAX_BYTES } from './properties.ts';
import { AMOUNT_MAX, type RevenueClaim } from './revenue-claim.ts';
import { IDENTITY_MAX } from './sender-claims.ts';
import { parseInstant } from './timestamp.ts';

/** Text without NUL and lone surrogates, which the store or readers cannot hold. */
export const wholeText = z
  .string()
  .refine((text) => !/[\0\p{Cs}]/u.test(text), 'holds NUL or a lone surrogate');

/** Non-empty text, or a number as text. */
export const identity = z.union([wholeText.min(1).max(IDENTITY_MAX), z.number().transform(String)]);

const softwareText = z.union([wholeText, z.number().transform(String)]).nullish();
const deviceKind = softwareText.transform((word, context) => {
  if (word === undefined || word === null || word === '') return undefined;
  const kind = deviceKindOf(word);
  if (kind === undefined) context.addIssue('not a kind of device');
  return kind;
});

const reserved = {
  __path: wholeText.nullish(),
  __referrer: wholeText.nullish(),
  __title: wholeText.nullish(),
  __language: wholeText.nullish(),
  __timezone: wholeText.nullish(),
  __screen: wholeText.nullish(),
  __ip: wholeText.nullish(),
  __userAgent: wholeText.nullish(),
  __os: softwareText,
  __osVersion: softwareText,
  __browser: softwareText,
  __browserVersion: softwareText,
  __device: deviceKind,
  __brand: softwareText,
  __model: softwareText,
  __deviceId: wholeText.min(1).max(DEVICE_ID_MAX).nullish(),
  __timestamp: z
    .union([z.string(), z.number()])
    .transform((value, context) => {
      const ms = parseInstant(value);
      if (ms === undefined) context.addIssue('not a time');
      return ms;
    })
    .nullish(),
};
// Unchecked, except on an event that claims money.
const money = {
  __amount: z.unknown().optional(),
  __currency: z.unknown().optional(),
  __orderId: z.unknown().optional(),
  __refund: z.unknown().optional(),
  __revenue: z.unknown().optional(),
};
const reservedSchema = z.object({ ...reserved, ...money });
const RESERVED_NAMES = Object.keys(reservedSchema.shape);

const leaf = z.union([
  wholeText.refine((text) => Buffer.byteLength(text) <= VALUE_MAX_BYTES),
  z.number().transform(String),
  z.boolean().transform(String),
]);

/** `properties` of a payload, split into the reserved ones and a flat list of the others. */
export const propertiesSchema = z
  .custom<Record<string, unknown>>((value) => z.record(z.string(), z.unknown()).safeParse(value).success)
  .transform((properties, context) => {
    const values = new Map<string, string>();
    let leaves = 0;
    for (const [path, value] of leavesOf(properties)) {
      const parsed = leaf.safeParse(value);
      leaves += 1;
      const key = path.join('.');
      const isKey = path.length <= DEPTH_MAX && key.length <= KEY_MAX && wholeText.safeParse(key).success;
      if (!parsed.success || !isKey) context.addIssue({ code: 'custom', message: 'not a property', path });
      else values.set(key, parsed.data);
    }
    if (leaves > KEYS_MAX) context.addIssue('too many keys');
    const parsed = reservedSchema.safeParse(properties);
    if (!parsed.success) context.addIssue('a reserved property is wrong');
    return { flat: [...values].flat(), reserved: parsed.data };
  });

const amount = z
  .union([z.number().min(0).transform(decimalText), z.string().regex(/^\d+(\.\d+)?$/)])
  .refine((text) => text.length <= AMOUNT_MAX);
const currency = z
  .string()
  .regex(/^[a-zA-Z]{3}$/)
  .toUpperCase()
  .refine(isCurrency);

/** The reserved properties of an event that claims money. */
export const revenueSchema = z
  .object({
    __amount: amount.nullish(),
    __currency: currency.nullish(),
    __orderId: identity.nullish(),
    __refund: z.boolean().nullish(),
    __revenue: z.int().min(0).transform(String).nullish(),
  })
  .transform(
    (named): RevenueClaim => ({
      isRefund: named.__refund ?? false,
      amount: named.__amount ?? '',
      minorUnits: named.__revenue ?? '',
      currency: named.__currency ?? '',
      orderId: named.__orderId ?? '',
    }),
  )
  .refine((claim) => claim.amount === '' || isWithinMinorUnits(claim.amount, claim.currency))
  .refine((claim) => claim.amount === '' || claim.minorUnits === '')
  .refine(({ isRefund, orderId }) => !isRefund || orderId !== '')
  .refine((claim) => claim.isRefund || claim.amount !== '' || claim.minorUnits !== '');

/** Every leaf below the free properties, and every object nested too deeply, which no leaf schema accepts. */
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
