/**
 * The click-through rate that a search result usually has at each position, from 1 to 20. It falls steeply on the first
 * page of results and is flat on the second one. Published measurements differ in height and agree in this shape; what
 * matters here is that a query far below it is worth a look.
 */
export const EXPECTED_CTR = [
  0.28, 0.15, 0.11, 0.08, 0.065, 0.05, 0.04, 0.032, 0.028, 0.025, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01,
  0.01, 0.01, 0.01,
] as const;

/** The rates of these positions, both included, as the description of the question lists them. */
export function expectedCtrText({ first, last }: { readonly first: number; readonly last: number }): string {
  const rates = EXPECTED_CTR.slice(first - 1, last);
  const flatFrom = rates.findIndex((rate, index) => rates.slice(index).every((after) => after === rate));
  const steep = rates.slice(0, flatFrom).map((rate, index) => `${first + index}: ${rate}`);
  return [...steep, `${first + flatFrom} to ${last}: ${rates[flatFrom]}`].join(', ');
}
