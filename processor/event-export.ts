import { isCurrency, majorUnits } from '../infra/money.ts';
import type { StoreSettings } from '../infra/store/replication.ts';
import { VISIT_FIELD_LIST } from './fields.ts';

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const USUAL_UNITS = 100;
const CURRENCIES_BY_UNITS = currenciesByUnits();

/**
 * CONTRACT for bulk exports of events from the store: the columns of an exported event, in formats that the store writes itself, so no row
 * is encoded twice. A test of the query room compares them with the answers of `/export/events`. They have only the id of the profile: the
 * query room adds the rest, and files and feeds, which cannot be changed when a person is erased, do without it.
 *
 *     json      one object a line, as a row of `/export/events`
 *     parquet   flat: the fields of `meta` are columns; times in milliseconds UTC, amounts as Decimal(38, 4),
 *               `groups` a list, `properties` a map; null where no coordinates or no amount are known
 *     csv       flat; times in ISO 8601, `groups` and `properties` as JSON; texts are quoted: an empty field without
 *               quotes is null
 */
export type ExportShape = 'json' | 'parquet' | 'csv';

/** Optional groups of fields of an exported event. */
export const EXPORT_GROUPS = [
  'profile',
  'meta',
  'properties',
  'referrer',
  'geo',
  'device',
  'revenue',
  'utm',
  'sdk',
] as const;
export type ExportGroup = (typeof EXPORT_GROUPS)[number];

/**
 * The columns that the fields of an exported event are made of. A subquery has to select these and no others for `row`.
 */
export function exportSources(groups: readonly ExportGroup[]): string[] {
  return [...new Set(fieldsOf(groups).flatMap(({ sources }) => sources))];
}

/**
 * The select list of an exported event over rows called `row`, with the columns of `exportSources`. Binds `projectId`,
 * the public id of the site; the rest is constant text. `writtenAs` changes the fields whose text comes from senders.
 */
export function exportColumns(
  shape: ExportShape,
  groups: readonly ExportGroup[],
  writtenAs = (text: string) => text,
): string {
  return fieldsOf(groups)
    .flatMap(({ name, isSent, texts }) => {
      const text = texts[shape];
      return text === undefined ? [] : [`${isSent ? writtenAs(text) : text} AS ${name}`];
    })
    .join(',\n    ');
}

/** The order in which the store keeps the events of one site, over rows called `row`: by hour, session, time and id. */
export const EXPORT_ORDER = 'toStartOfHour(row.createdAt), row.sessionId, row.createdAt, row.id';

/** Settings with which the formats come out as described above, in little memory. */
export const EXPORT_SETTINGS: StoreSettings = {
  date_time_output_format: 'iso',
  output_format_json_quote_64bit_integers: 0,
  output_format_json_named_tuples_as_objects: 1,
  output_format_json_escape_forward_slashes: 0,
  // Servers before 25.3 have the type of `nullOr` only with it; later ones know the name and need it no more.
  allow_experimental_variant_type: 1,
  format_csv_null_representation: '',
  output_format_parquet_string_as_string: 1,
  output_format_parquet_row_group_size: 100_000,
  output_format_parquet_row_group_size_bytes: 16_777_216,
  // Bloom filters took a sixth of the file and of the time, and 128 MB while writing; bulk readers do not use them.
  output_format_parquet_write_bloom_filter: 0,
  output_format_parquet_parallel_encoding: 0,
  // A name means the stored column, also where an alias made from it has the same name.
  prefer_column_name_to_alias: 1,
};

/**
 * An object with these fields in JSON, or null. A variant with one type is what every supported server has for it: only
 * since 26.1 may a tuple be NULL by itself.
 */
export function nullOr(isNull: string, fields: string, types: string): string {
  const type = `Tuple(${types})`;
  return `if(${isNull}, NULL, CAST(CAST(${fields}, '${type}'), 'Variant(${type})'))`;
}

interface Field {
  readonly name: string;
  /** Undefined: every event has it. */
  readonly group: ExportGroup | undefined;
  readonly sources: readonly string[];
  /** True if it is any text that a sender gave: not an id of ours, a number, a time, or JSON. */
  readonly isSent: boolean;
  readonly texts: Readonly<Partial<Record<ExportShape, string>>>;
}

const FIELDS: readonly Field[] = [
  same('id', undefined, 'lower(hex(row.id))'),
  plain('name'),
  plain('deviceId'),
  plain('profileId'),
  same('sessionId', undefined, "if(row.sessionId = toFixedString('', 16), '', lower(hex(row.sessionId)))"),
  { ...same('projectId', undefined, '{projectId:String}'), sources: [] },
  same('createdAt', undefined, 'row.createdAt'),
  plain('path'),
  plain('origin'),
  plain('title'),
  ...visitFields(undefined),
  {
    ...same('groups', undefined, 'row.groups'),
    texts: { json: 'row.groups', parquet: 'row.groups', csv: 'toJSONString(row.groups)' },
  },
  {
    name: 'profile',
    group: 'profile',
    isSent: false,
    sources: ['profileId'],
    texts: {
      json: nullOr("row.profileId = ''", 'tuple(row.profileId)', 'id String'),
    },
  },
  {
    name: 'meta',
    group: 'meta',
    isSent: false,
    sources: ['eventId', 'receivedAt', 'query', 'hash'],
    texts: {
      json: `CAST(tuple(row.eventId, row.receivedAt, row.query, row.hash), 'Tuple(eventId String, receivedAt DateTime64(3, \\'UTC\\'), query String, hash String)')`,
    },
  },
  flat(plain('eventId', 'meta')),
  flat(same('receivedAt', 'meta', 'row.receivedAt')),
  flat(plain('query', 'meta')),
  flat(plain('hash', 'meta')),
  {
    ...same('properties', 'properties', 'row.properties'),
    texts: { json: 'row.properties', parquet: 'row.properties', csv: 'toJSONString(row.properties)' },
  },
  ...visitFields('referrer'),
  ...visitFields('geo'),
  ...visitFields('device'),
  {
    name: 'revenue',
    group: 'revenue',
    isSent: false,
    sources: ['revenue', 'currency'],
    texts: {
      json: amountText('row.revenue', 'row.currency'),
      parquet: amountText('row.revenue', 'row.currency', 'toDecimal128'),
      csv: amountText('row.revenue', 'row.currency'),
    },
  },
  plain('currency', 'revenue'),
  plain('orderId', 'revenue'),
  ...visitFields('utm'),
  plain('sdkName', 'sdk'),
  plain('sdkVersion', 'sdk'),
];

function fieldsOf(groups: readonly ExportGroup[]): Field[] {
  return FIELDS.filter(({ group }) => group === undefined || groups.includes(group));
}

function visitFields(group: ExportGroup | undefined): Field[] {
  const ofGroup = VISIT_FIELD_LIST.filter(([, { exportGroup }]) => exportGroup === group);
  return ofGroup.map(([name, { isCoordinate }]) => (isCoordinate ? coordinate(name) : plain(name, group)));
}

function plain(name: string, group?: ExportGroup): Field {
  return { ...same(name, group, `row.${name}`), isSent: true };
}

function same(name: string, group: ExportGroup | undefined, text: string): Field {
  return { name, group, sources: [name], isSent: false, texts: { json: text, parquet: text, csv: text } };
}

/** A field that JSON rows have inside `meta`. */
function flat({ texts: { json: _, ...texts }, ...field }: Field): Field {
  return { ...field, texts };
}

/** The store has no "unknown" for coordinates; 0, 0 is open sea. */
function coordinate(name: string): Field {
  const text = `if(row.longitude = 0 AND row.latitude = 0, NULL, toFloat32(row.${name}))`;
  return { ...same(name, 'geo', text), sources: ['longitude', 'latitude'] };
}

/**
 * The amount of a row in major units, as it is exported; null for a row without one. The quotient of two whole numbers
 * that doubles hold exactly is the double next to the decimal amount, which is what `majorUnits` gives.
 *
 * As `toDecimal128` it is exact to four decimals, and no currency has more. The result is constant text.
 */
export function amountText(
  revenue: string,
  currency: string,
  type: 'toFloat64' | 'toDecimal128' = 'toFloat64',
): string {
  const cases = [...CURRENCIES_BY_UNITS].map(
    ([units, currencies]) => `${currency} IN (${currencies.map((code) => `'${code}'`).join(', ')}), ${units}`,
  );
  const units = `multiIf(${[...cases, USUAL_UNITS].join(', ')})`;
  const amount = type === 'toFloat64' ? `toFloat64(${revenue})` : `toDecimal128(${revenue}, 4)`;
  return `if(${currency} = '', NULL, ${amount} / ${units})`;
}

/** Currencies whose major unit does not have the usual number of minor units, by that number. */
function currenciesByUnits(): ReadonlyMap<number, readonly string[]> {
  const byUnits = new Map<number, string[]>();
  for (const code of LETTERS.flatMap((a) => LETTERS.flatMap((b) => LETTERS.map((c) => a + b + c)))) {
    if (!isCurrency(code)) continue;
    const units = Math.round(1 / majorUnits(1n, code));
    if (units === USUAL_UNITS) continue;
    byUnits.set(units, [...(byUnits.get(units) ?? []), code]);
  }
  return byUnits;
}
