import { cut } from './page.ts';

/** The location of an address. Texts are empty and coordinates 0 when unknown. */
export interface Location {
  /** ISO 3166-1 alpha-2, in upper case. */
  readonly country: string;
  /** The English name of the country's largest subdivision. */
  readonly region: string;
  /** The English name. */
  readonly city: string;
  /** Degrees, to four decimals. */
  readonly longitude: number;
  readonly latitude: number;
}

export const NO_LOCATION: Location = { country: '', region: '', city: '', longitude: 0, latitude: 0 };

const NAME_MAX = 128;
// The databases give four decimals, about ten metres; further digits are noise of 32-bit numbers.
const DEGREE_STEPS = 10_000;

type RecordFields = Readonly<Record<string, unknown>>;

/**
 * The location in a database's record. Two layouts are known: flat, with `country_code`, `state1` and `city`, and
 * nested, with `country.iso_code`, `subdivisions` and `names`. A record without a country or with impossible
 * coordinates is broken, and is not used.
 *
 * `districts`: city names end in a district, as in `Hanover (Buchholz-Kleefeld)`, which is removed. Elsewhere
 * parentheses belong to the name: `Frankfurt (Oder)`.
 */
export function locationOf(record: unknown, { districts }: { readonly districts: boolean }): Location {
  if (!isRecordFields(record)) return NO_LOCATION;
  const flat = 'country_code' in record;
  const country = flat ? record.country_code : fieldsOf(record.country).iso_code;
  if (typeof country !== 'string' || !/^[a-z]{2}$/i.test(country) || country.toUpperCase() === 'ZZ')
    return NO_LOCATION;
  const coordinates = flat ? record : fieldsOf(record.location);
  const longitude = degrees(coordinates.longitude, 180);
  const latitude = degrees(coordinates.latitude, 90);
  if (longitude === undefined || latitude === undefined) return NO_LOCATION;
  const city = flat ? nameOf(record.city) : englishName(record.city);
  return {
    country: country.toUpperCase(),
    region: flat ? nameOf(record.state1) : regionOf(record.subdivisions),
    city: districts ? city.replace(/(?<=\S)\s*\(.*\)$/, '') : city,
    longitude,
    latitude,
  };
}

/** The English name of the first subdivision, which is the largest, or its code. */
function regionOf(subdivisions: unknown): string {
  const first = Array.isArray(subdivisions) ? (subdivisions[0] as unknown) : undefined;
  return englishName(first) || nameOf(fieldsOf(first).iso_code);
}

function englishName(named: unknown): string {
  return nameOf(fieldsOf(fieldsOf(named).names).en);
}

function nameOf(text: unknown): string {
  return typeof text === 'string' ? cut(text.trim(), NAME_MAX) : '';
}

/** Rounded; 0 when absent, undefined when out of range. */
function degrees(value: unknown, most: number): number | undefined {
  if (value === undefined || value === null) return 0;
  // NaN fails the comparison.
  if (typeof value !== 'number' || !(Math.abs(value) <= most)) return undefined;
  // Adding 0 turns -0 into 0.
  return Math.round(value * DEGREE_STEPS) / DEGREE_STEPS + 0;
}

function fieldsOf(value: unknown): RecordFields {
  return isRecordFields(value) ? value : {};
}

function isRecordFields(value: unknown): value is RecordFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
