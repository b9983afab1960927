import type { OrderUpdate } from '../../../ingest/entity-update.ts';

/**
 * The oracle of orders, as slow and plain as possible: a ledger rebuilt from all applied updates for each update. The
 * rules:
 *
 * 1. Applied updates are a list in the order of arrival. An update whose id is in it is a repeat, and so is a second
 *    order.
 * 2. The ledger has the order first, then the refunds in the order of arrival. A refund without a currency has the
 *    order's; a refund in another currency takes nothing. All others take the named amount, or everything if they name
 *    none, but never more than is left.
 * 3. Without an order there is no ledger. At most 100 refunds wait for one.
 * 4. An order is applied. A refund is applied when it waits, or when it takes something.
 */
export interface ReferenceOrder {
  readonly currency: string;
  readonly amount: bigint;
  readonly refunded: bigint;
  readonly hasOrder: boolean;
  /** Refunds that wait for the order. */
  readonly waiting: readonly OrderUpdate[];
  readonly outcomes: readonly string[];
  /** The revenue that each update records. */
  readonly recorded: readonly (readonly LedgerEntry[])[];
}

export interface LedgerEntry {
  readonly update: OrderUpdate;
  readonly minorUnits: bigint;
  readonly currency: string;
}

const DECIMALS: Readonly<Record<string, number>> = { EUR: 2, JPY: 0, BHD: 3 };

/** The result of the updates of one order. */
export function referenceOrder(updates: readonly OrderUpdate[]): ReferenceOrder {
  let taken: readonly OrderUpdate[] = [];
  const outcomes: string[] = [];
  const recorded: LedgerEntry[][] = [];
  for (const update of updates) {
    const outcome = outcomeOf(taken, update);
    const before = ledgerOf(taken);
    if (outcome === 'taken' || outcome === 'waiting') taken = [...taken, update];
    outcomes.push(outcome === 'taken' ? 'applied' : outcome);
    const entries = ledgerOf(taken).filter(
      (entry) => !before.some(({ update: known }) => known === entry.update),
    );
    recorded.push(entries.filter(({ update, minorUnits }) => !update.isRefund || minorUnits !== 0n));
  }
  const ledger = ledgerOf(taken);
  return {
    currency: ledger[0]?.currency ?? '',
    amount: ledger[0]?.minorUnits ?? 0n,
    refunded: -sum(ledger.slice(1)),
    hasOrder: ledger.length > 0,
    waiting: ledger.length > 0 ? [] : taken,
    outcomes,
    recorded,
  };
}

function outcomeOf(taken: readonly OrderUpdate[], update: OrderUpdate): string {
  if (update.updateId !== '' && taken.some(({ updateId }) => updateId === update.updateId)) return 'repeat';
  const ledger = ledgerOf(taken);
  if (!update.isRefund) return ledger.length > 0 ? 'repeat' : 'taken';
  if (ledger.length === 0) return taken.length < 100 ? 'waiting' : 'too-many-waiting';
  const currency = ledger[0]?.currency ?? '';
  if (update.currency !== '' && update.currency !== currency) return 'foreign-currency';
  if (ledgerOf([...taken, update]).at(-1)?.minorUnits !== 0n) return 'taken';
  const isWhole = update.amount === '' && update.minorUnits === '';
  if (isWhole) return 'repeat';
  // A refund of nothing, which is done.
  return minorUnitsOf(update, currency) === 0n ? 'applied' : 'exceeded';
}

function ledgerOf(taken: readonly OrderUpdate[]): LedgerEntry[] {
  const order = taken.find(({ isRefund }) => !isRefund);
  if (order === undefined) return [];
  const { currency } = order;
  const ledger: LedgerEntry[] = [{ update: order, minorUnits: minorUnitsOf(order, currency), currency }];
  for (const update of taken.filter(({ isRefund }) => isRefund)) {
    const left = sum(ledger);
    const isForeign = update.currency !== '' && update.currency !== currency;
    const isWhole = update.amount === '' && update.minorUnits === '';
    const wanted = isForeign ? 0n : isWhole ? left : minorUnitsOf(update, currency);
    ledger.push({ update, minorUnits: wanted > left ? -left : -wanted, currency });
  }
  return ledger;
}

function sum(entries: readonly LedgerEntry[]): bigint {
  return entries.reduce((total, { minorUnits }) => total + minorUnits, 0n);
}

function minorUnitsOf({ amount, minorUnits }: OrderUpdate, currency: string): bigint {
  if (minorUnits !== '') return BigInt(minorUnits);
  const [whole = '', fraction = ''] = amount.split('.');
  const decimals = DECIMALS[currency] ?? 2;
  const kept = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
  return Number(fraction[decimals] ?? '0') >= 5 ? kept + 1n : kept;
}
