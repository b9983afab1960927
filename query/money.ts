// Decimal places by ISO 4217 where they are not two. (The runtime's own table follows usage instead: it gives the
// Afghan afghani none, though amounts are kept with two.)
const EXPONENTS: ReadonlyMap<string, number> = new Map([
  ...listed('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF', 0),
  ...listed('BHD IQD JOD KWD LYD OMR TND', 3),
  ...listed('CLF UYW', 4),
]);

/** Minor units as an amount of the currency: 1234n USD is 12.34. */
export function majorUnits(minorUnits: bigint, currency: string): number {
  const exponent = EXPONENTS.get(currency) ?? 2;
  // By way of the decimal text: a division would round twice.
  return Number(`${minorUnits}e-${exponent}`);
}

function listed(currencies: string, exponent: number): [string, number][] {
  return currencies.split(' ').map((currency) => [currency, exponent]);
}
