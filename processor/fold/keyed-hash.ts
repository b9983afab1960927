/** Four words of 32 random bits. */
export type HashKey = Uint32Array;

/**
 * Writes 128 bits that cannot be predicted without the key: HalfSipHash-2-4 of `number` and the characters of `text`,
 * which are bytes, once with each half of the key. In plain arithmetic, because a call of the runtime's hashes takes
 * several times as long for a short text.
 * @see https://github.com/veorq/SipHash
 */
export function keyedHash(key: HashKey, number: number, text: string, into: Uint32Array): void {
  halfSipHash(key[0] ?? 0, key[1] ?? 0, number, text, into, 0);
  halfSipHash(key[2] ?? 0, key[3] ?? 0, number, text, into, 2);
}

function halfSipHash(
  key0: number,
  key1: number,
  number: number,
  text: string,
  into: Uint32Array,
  start: number,
): void {
  const { length } = text;
  let v0 = key0 | 0;
  let v1 = (key1 ^ 0xee) | 0;
  let v2 = (key0 ^ 0x6c796765) | 0;
  let v3 = (key1 ^ 0x74656462) | 0;
  const words = length >> 2;
  // The number first, then the whole words of the text, then its last bytes below the length of all: two rounds each.
  // Then four rounds after a mark in v2, which end in the low word, and four after one in v1, which end in the high
  // one.
  const blocks = words + 2;
  for (let step = 0; step < blocks + 2; step += 1) {
    const isBlock = step < blocks;
    let word = step === 0 ? number | 0 : 0;
    if (isBlock && step > 0) {
      const offset = 4 * (step - 1);
      const isLast = step === blocks - 1;
      if (isLast) word = (length + 4) << 24;
      const end = isLast ? length : offset + 4;
      for (let index = offset; index < end; index += 1)
        word |= (text.charCodeAt(index) & 0xff) << (8 * (index - offset));
    }
    if (isBlock) v3 ^= word;
    else if (step === blocks) v2 ^= 0xee;
    else v1 ^= 0xdd;
    for (let rounds = isBlock ? 2 : 4; rounds > 0; rounds -= 1) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    if (isBlock) v0 ^= word;
    else into[start + step - blocks] = v1 ^ v3;
  }
}
