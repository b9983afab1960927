/** Numbers by slot. */
export type Column = Float64Array | Uint32Array | Uint8Array;

/** Memory that can grow where it is: part of the language in every release of Node that this runs on, not of its types yet. */
interface GrowingBuffer extends ArrayBuffer {
  readonly resizable: boolean;
  readonly maxByteLength: number;
  resize(bytes: number): void;
}
const GrowingBuffer = ArrayBuffer as unknown as new (
  bytes: number,
  options: { readonly maxByteLength: number },
) => GrowingBuffer;

/** Rows that a column can grow to where it is. Addresses are reserved for them, and no memory. */
const RESERVED_ROWS = 4_194_304;
const RESERVED_FACTOR = 8;

/**
 * The column with room for `rows` rows of `width` numbers each. A larger copy beside the original would take its room twice until garbage
 * is collected, which is most of the memory of a million rows. So a column that grows for the first time moves into reserved addresses, and
 * from then on grows in place.
 */
export function grown<Numbers extends Column>(column: Numbers, rows: number, width = 1): Numbers {
  const bytes = rows * width * column.BYTES_PER_ELEMENT;
  const buffer = column.buffer as GrowingBuffer;
  if (buffer.resizable && bytes <= buffer.maxByteLength) {
    buffer.resize(bytes);
    return column;
  }
  const reserved = Math.max(RESERVED_ROWS, buffer.resizable ? rows * RESERVED_FACTOR : 0);
  const maxByteLength = Math.max(bytes, reserved * width * column.BYTES_PER_ELEMENT);
  const larger = viewOf(column, new GrowingBuffer(bytes, { maxByteLength }));
  larger.set(column);
  return larger;
}

/** A view of the same kind, which follows the length of its buffer. */
function viewOf<Numbers extends Column>(column: Numbers, buffer: ArrayBuffer): Numbers {
  const View = column.constructor as new (memory: ArrayBuffer) => Numbers;
  return new View(buffer);
}
