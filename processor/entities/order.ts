import { z } from 'zod';
import { minorUnitsOf } from '../../infra/money.ts';
import type { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { OrderUpdate } from '../../ingest/entity-update.ts';
import type { DeviceId } from '../../ingest/event.ts';
import { EVENT_MAX_BYTES } from '../../ingest/event.ts';
import {
  type Applied,
  END_COLUMNS,
  type EntityHead,
  FRONT_COLUMNS,
  HEAD_SELECT,
  headAfter,
  headFields,
  headOf,
  isRepeat,
  writeEnd,
  writeFront,
} from './head.ts';

/**
 * An order and its refunds. An order id counts once on a site, for ever; refunds never exceed the order; a refund that
 * comes before its order waits for it:
 *
 *     refund 5 ─▶ waits        order 20 ─▶ +20 −5        refund 30 ─▶ −15        refund of all ─▶ nothing is left
 *
 * Always 0 ≤ refunded ≤ amount, and the recorded revenue adds up to amount − refunded.
 */
export interface OrderDocument extends EntityHead {
  readonly kind: 'order';
  /** ISO 4217; empty before the order comes. */
  readonly currency: string;
  /** In minor units, like `refunded`. */
  readonly amount: bigint;
  readonly refunded: bigint;
  /** The order came, not only refunds of it. */
  readonly hasOrder: boolean;
  /** Refunds that came before the order, in the order of arrival. */
  readonly waiting: readonly WaitingRefund[];
  /**
   * The answer to the event that counts; repeats of the order get the same. Undefined before the order comes, for an order that is older
   * than this field, and when the person was erased.
   */
  readonly answered: OrderAnswer | undefined;
}

/** The ids that a sender was answered; empty where the event has none. */
export interface OrderAnswer {
  readonly deviceId: DeviceId;
  readonly sessionId: string;
}

/** An update with the answer that its event carries. */
export type ReadOrderUpdate = OrderUpdate & { readonly answered?: OrderAnswer };

export type WaitingRefund = Pick<OrderUpdate, 'amount' | 'minorUnits' | 'currency' | 'partition' | 'event'>;

/** Revenue to record: the event with this amount, in this lane. */
export interface RecordedRevenue {
  readonly event: Uint8Array;
  readonly lane: number;
  /** Signed: negative for a refund. */
  readonly minorUnits: bigint;
  readonly currency: string;
}

export type OrderOutcome =
  | 'applied'
  | 'repeat'
  | 'waiting'
  | 'exceeded'
  | 'foreign-currency'
  | 'too-many-waiting';

/** Result of an update of an order, and the revenue to record for it, in this order. */
export type AppliedOrder = Applied<OrderDocument, OrderOutcome> & {
  readonly recorded: readonly RecordedRevenue[];
  /** Outcomes of the refunds that waited for the order in this update. */
  readonly waitedOutcomes: readonly OrderOutcome[];
};

/** Idempotency keys that an order remembers. */
export const ORDER_UPDATE_IDS_MAX = 1_000;
/** Refunds that wait for an order; it may never come, so more are rejected. */
export const WAITING_MAX = 100;
/**
 * Bytes of their events. Most events have a thousand bytes or two; a few of the largest have room, a hundred do not.
 */
export const WAITING_MAX_BYTES: number = 4 * EVENT_MAX_BYTES;

/** Applies an update to an order. Same document and update, same result. */
export function applyOrder(
  document: OrderDocument | undefined,
  update: ReadOrderUpdate,
  version: bigint,
): AppliedOrder {
  if (isRepeat(document, update)) return unchanged(document, 'repeat');
  if (document?.hasOrder)
    return update.isRefund ? refund(document, update, version) : unchanged(document, 'repeat');
  return update.isRefund ? wait(document, update, version) : place(document, update, version);
}

function unchanged(document: OrderDocument | undefined, outcome: OrderOutcome): AppliedOrder {
  return { changed: false, document, outcome, recorded: [], waitedOutcomes: [] };
}

/** Applies the order and the refunds that waited for it. */
function place(document: OrderDocument | undefined, update: ReadOrderUpdate, version: bigint): AppliedOrder {
  const { currency } = update;
  const amount = amountOf(update, currency) ?? 0n;
  const recorded = [revenueOf(update, amount, currency)];
  const waitedOutcomes: OrderOutcome[] = [];
  let refunded = 0n;
  for (const waiting of document?.waiting ?? []) {
    const { minorUnits, outcome } = refundOf({ currency, left: amount - refunded }, waiting);
    waitedOutcomes.push(outcome);
    if (minorUnits === 0n) continue;
    refunded += minorUnits;
    recorded.push(revenueOf(waiting, -minorUnits, currency));
  }
  const head = headAfter(document, update, { version, updateIdsMax: ORDER_UPDATE_IDS_MAX });
  const placed: OrderDocument = {
    kind: 'order',
    ...head,
    currency,
    amount,
    refunded,
    hasOrder: true,
    waiting: [],
    answered: update.answered,
  };
  return { changed: true, document: placed, outcome: 'applied', recorded, waitedOutcomes };
}

/** A refund of a known order. */
function refund(document: OrderDocument, update: OrderUpdate, version: bigint): AppliedOrder {
  const { currency } = document;
  const { minorUnits, outcome } = refundOf({ currency, left: document.amount - document.refunded }, update);
  if (minorUnits === 0n) return unchanged(document, outcome);
  const head = headAfter(document, update, { version, updateIdsMax: ORDER_UPDATE_IDS_MAX });
  const refunded = document.refunded + minorUnits;
  const recorded = [revenueOf(update, -minorUnits, currency)];
  return {
    changed: true,
    document: { ...document, ...head, refunded },
    outcome,
    recorded,
    waitedOutcomes: [],
  };
}

/** A refund of an order that has not come. */
function wait(document: OrderDocument | undefined, update: OrderUpdate, version: bigint): AppliedOrder {
  const others = document?.waiting ?? [];
  const bytes = others.reduce((sum, { event }) => sum + event.length, update.event.length);
  if (others.length >= WAITING_MAX || (others.length > 0 && bytes > WAITING_MAX_BYTES))
    return unchanged(document, 'too-many-waiting');
  const { amount, minorUnits, currency, partition } = update;
  // A copy: the decoded bytes are a view of a message, which would stay in memory as a whole.
  const waiting = [
    ...others,
    { amount, minorUnits, currency, partition, event: new Uint8Array(update.event) },
  ];
  const head = headAfter(document, update, { version, updateIdsMax: ORDER_UPDATE_IDS_MAX });
  const nothing = { currency: '', amount: 0n, refunded: 0n, hasOrder: false } as const;
  return {
    changed: true,
    document: { kind: 'order', ...head, ...nothing, waiting, answered: undefined },
    outcome: 'waiting',
    recorded: [],
    waitedOutcomes: [],
  };
}

/** Amount and outcome of a refund from an order with this much left. */
function refundOf(
  order: { readonly currency: string; readonly left: bigint },
  given: WaitingRefund,
): { readonly minorUnits: bigint; readonly outcome: OrderOutcome } {
  if (given.currency !== '' && given.currency !== order.currency)
    return { minorUnits: 0n, outcome: 'foreign-currency' };
  const wanted = amountOf(given, order.currency);
  if (wanted === undefined)
    return { minorUnits: order.left, outcome: order.left === 0n ? 'repeat' : 'applied' };
  if (wanted < order.left) return { minorUnits: wanted, outcome: 'applied' };
  const isExceeded = order.left === 0n && wanted > 0n;
  return { minorUnits: order.left, outcome: isExceeded ? 'exceeded' : 'applied' };
}

/** Minor units; undefined when no amount is given, which on a refund means everything that is left. */
function amountOf(given: Pick<OrderUpdate, 'amount' | 'minorUnits'>, currency: string): bigint | undefined {
  if (given.minorUnits !== '') return BigInt(given.minorUnits);
  return given.amount === '' ? undefined : minorUnitsOf(given.amount, currency);
}

function revenueOf(given: WaitingRefund, minorUnits: bigint, currency: string): RecordedRevenue {
  return { event: given.event, lane: given.partition, minorUnits, currency };
}

/** Columns of the table `orders`, in its order. */
export const ORDER_COLUMNS = [
  ...FRONT_COLUMNS,
  'currency',
  'amount',
  'refunded',
  'hasOrder',
  'waiting',
  'answered',
  ...END_COLUMNS,
] as const;

/** Columns to select to read orders back with `orderOf`. */
export const ORDER_SELECT = `${HEAD_SELECT}, currency, toString(amount) AS amountText, toString(refunded) AS refundedText,
  hasOrder, waiting, answered`;

/** Appends the row of an order. */
export function writeOrderRow(writer: RowBinaryWriter, order: OrderDocument): void {
  writeFront(writer, order);
  writer.string(order.currency);
  writer.i64(order.amount);
  writer.i64(order.refunded);
  writer.u8(order.hasOrder ? 1 : 0);
  writer.stringArray(order.waiting.map(encodeWaiting));
  writer.stringArray(order.answered === undefined ? [] : [order.answered.deviceId, order.answered.sessionId]);
  writeEnd(writer, order);
}

function encodeWaiting({ event, ...rest }: WaitingRefund): string {
  return JSON.stringify({ ...rest, event: Buffer.from(event).toString('base64') });
}

const waitingSchema = z.object({
  amount: z.string(),
  minorUnits: z.string(),
  currency: z.string(),
  partition: z.number(),
  event: z.string().transform((text) => new Uint8Array(Buffer.from(text, 'base64'))),
});

const rowSchema = z.object({
  ...headFields,
  currency: z.string(),
  amountText: z.string(),
  refundedText: z.string(),
  hasOrder: z.boolean(),
  waiting: z.array(z.string().transform((text) => waitingSchema.parse(JSON.parse(text)))),
  answered: z.array(z.string()),
});

/** The order of a row that was selected with `ORDER_SELECT`. */
export function orderOf(row: unknown): OrderDocument {
  const read = rowSchema.parse(row);
  const [deviceId, sessionId] = read.answered;
  return {
    kind: 'order',
    ...headOf(read),
    currency: read.currency,
    amount: BigInt(read.amountText),
    refunded: BigInt(read.refundedText),
    hasOrder: read.hasOrder,
    waiting: read.waiting,
    answered: deviceId === undefined || sessionId === undefined ? undefined : { deviceId, sessionId },
  };
}
