export const FNV_OFFSET = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;

/** The state of an FNV-1a hash after these characters: for short keys, without allocating. Its low bits need mixing (`mixed`). */
export function hashText(text: string, start: number = FNV_OFFSET): number {
  let hash = start;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  return hash;
}

/** An unsigned number of 32 bits whose rests, divided by small numbers, spread evenly. */
export function mixed(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0;
}
