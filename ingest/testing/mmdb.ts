/** A value in a record. Whole numbers from 0 become unsigned integers, all others doubles. */
export type MmdbValue =
  | string
  | number
  | boolean
  | readonly MmdbValue[]
  | { readonly [key: string]: MmdbValue };

export interface MmdbOptions {
  /** Networks, as `192.0.2.0/24` or `2001:db8::/32`, with their records. */
  readonly networks: readonly (readonly [cidr: string, record: MmdbValue])[];
  /** A tree of version 6 holds networks of both families. */
  readonly ipVersion: 4 | 6;
  readonly type: string;
  readonly builtAtMs: number;
}

const ENTITY_BITS = 24;
const SEPARATOR_BYTES = 16;
const MARK = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');

/** A node's two sides: another node's index, a record's index as `~index`, or nothing. */
type Node = [left: number | undefined, right: number | undefined];

/** A minimal database in the format MaxMind DB 2.0 (github.com/maxmind/MaxMind-DB, MaxMind-DB-spec.md). */
export function mmdb({ networks, ipVersion, type, builtAtMs }: MmdbOptions): Buffer {
  const nodes: Node[] = [[undefined, undefined]];
  networks.forEach(([cidr], index) => {
    insert(nodes, bitsOf(cidr, ipVersion), ~index);
  });
  const records = networks.map(([, record]) => encode(record));
  const offsets = records.map((_, index) => Buffer.concat(records.slice(0, index)).length);
  const pointer = (side: number | undefined) =>
    side === undefined
      ? nodes.length
      : side >= 0
        ? side
        : nodes.length + SEPARATOR_BYTES + (offsets[~side] ?? Number.NaN);
  const tree = Buffer.alloc((nodes.length * ENTITY_BITS * 2) / 8);
  nodes.forEach(([left, right], index) => {
    tree.writeUIntBE(pointer(left), index * 6, 3);
    tree.writeUIntBE(pointer(right), index * 6 + 3, 3);
  });
  const description = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: Math.floor(builtAtMs / 1000),
    database_type: type,
    description: {},
    ip_version: ipVersion,
    languages: ['en'],
    node_count: nodes.length,
    record_size: ENTITY_BITS,
  });
  return Buffer.concat([tree, Buffer.alloc(SEPARATOR_BYTES), ...records, MARK, description]);
}

function insert(nodes: Node[], bits: readonly number[], leaf: number): void {
  let node = nodes[0];
  bits.forEach((bit, depth) => {
    if (node === undefined) throw new Error('networks overlap');
    if (depth === bits.length - 1) {
      node[bit] = leaf;
      return;
    }
    const next = node[bit] ?? nodes.push([undefined, undefined]) - 1;
    node[bit] = next;
    node = nodes[next];
  });
}

function bitsOf(cidr: string, ipVersion: 4 | 6): readonly number[] {
  const [address = '', prefix = ''] = cidr.split('/');
  const groups = address.includes(':') ? groupsOf(address) : address.split('.').map(Number);
  const width = address.includes(':') ? 16 : 8;
  const bits = groups.flatMap((group) => [...group.toString(2).padStart(width, '0')].map(Number));
  const padding = width === 8 && ipVersion === 6 ? new Array<number>(96).fill(0) : [];
  return [...padding, ...bits.slice(0, Number(prefix))];
}

function groupsOf(address: string): number[] {
  const [left = '', right = ''] = address.split('::');
  const read = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [before, behind] = [read(left), read(right)];
  return [...before, ...new Array<number>(8 - before.length - behind.length).fill(0), ...behind];
}

function encode(value: MmdbValue): Buffer {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([control(2, bytes.length), bytes]);
  }
  if (typeof value === 'boolean') return control(14, value ? 1 : 0);
  if (typeof value === 'number') return encodeNumber(value);
  if (isList(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)]);
  const entries = Object.entries(value);
  return Buffer.concat([
    control(7, entries.length),
    ...entries.flatMap(([key, field]) => [encode(key), encode(field)]),
  ]);
}

function isList(value: MmdbValue): value is readonly MmdbValue[] {
  return Array.isArray(value);
}

function encodeNumber(value: number): Buffer {
  const whole = Number.isInteger(value) && value >= 0 && value < 2 ** 32;
  const bytes = Buffer.alloc(whole ? 4 : 8);
  if (whole) bytes.writeUInt32BE(value);
  else bytes.writeDoubleBE(value);
  return Buffer.concat([control(whole ? 6 : 3, bytes.length), bytes]);
}

/** A type and a size. Types above 7 take a second byte, sizes from 29 one or two more. */
function control(type: number, size: number): Buffer {
  const [code, rest] =
    size < 29 ? [size, []] : size < 285 ? [29, [size - 29]] : [30, [(size - 285) >> 8, (size - 285) & 0xff]];
  return Buffer.from(type > 7 ? [code, type - 7, ...rest] : [(type << 5) | code, ...rest]);
}
