import type { ChosenFilter } from './address.ts';
import { fieldTitle, isUnary, OPERATOR_WORDS } from './fields.ts';
import { country, language } from './format.ts';

/** A filter as a sentence. */
export function filterWords({ name, operator, values }: ChosenFilter): string {
  const start = `${fieldTitle(name)} ${OPERATOR_WORDS[operator]}`;
  return isUnary(operator) ? start : `${start} ${values.map(valueLabel(name)).join(' or ')}`;
}

/** Returns a function that formats the values of a field. */
export function valueLabel(name: string): (value: string) => string {
  return LABELS.get(name) ?? ((value) => value);
}

/** A map, because the address may name any field, `__proto__` too. */
const LABELS = new Map([
  ['country', country],
  ['language', language],
]);
