import { majorUnits } from '../../infra/money.ts';

/** Sums over the visits of a profile, as a statement returns them. */
export interface ActivityRow {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly sessions: number;
  /** Minor units by currency, as decimal text. */
  readonly revenue: Readonly<Record<string, string>>;
}

/** The activity of a profile without visits. */
export const NO_ACTIVITY = {
  firstSeen: null,
  lastSeen: null,
  sessions: 0,
  revenue: 0,
  revenueByCurrency: {},
} as const;

/** The activity in an answer. */
export function activityOf({ firstMs, lastMs, sessions, revenue }: ActivityRow, siteCurrency: string) {
  return {
    firstSeen: new Date(firstMs).toISOString(),
    lastSeen: new Date(lastMs).toISOString(),
    sessions,
    ...revenueOf(revenue, siteCurrency),
  };
}

/** Amounts in major units: of the site's currency, and of each currency whose total is not 0. */
export function revenueOf(minorUnits: Readonly<Record<string, string>>, siteCurrency: string) {
  const revenueByCurrency: Record<string, number> = {};
  for (const [currency, amount] of Object.entries(minorUnits).sort(([a], [b]) => (a < b ? -1 : 1)))
    if (amount !== '0' && currency !== '') revenueByCurrency[currency] = majorUnits(BigInt(amount), currency);
  return { revenue: revenueByCurrency[siteCurrency] ?? 0, revenueByCurrency };
}
