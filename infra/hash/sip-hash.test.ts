import { expect, test } from 'vitest';
import { sipHash48, sipKeyOf } from './sip-hash.ts';

// Made with ClickHouse: SELECT bitAnd(sipHash64(…), 281474976710655).
test.each([
  ['', 83139619127511],
  ['a', 9211858887241],
  ['abcdefg', 167030798221432],
  ['abcdefgh', 177514435715475],
  ['abcdefghi', 66288941540748],
  ['0123456789abcdef0123456789abcdef', 209385294930509],
  ['Ünïcödé ☃', 217732258094841],
  ['x'.repeat(255), 178880018709888],
  ['y'.repeat(256), 252359802143430],
])('%j', (text, hash) => expect(sipHash48(Buffer.from(text))).toBe(hash));

test('with the key and the bytes of the example in the paper', () => {
  const bytes = Uint8Array.from({ length: 16 }, (_, index) => index);
  // 0xa129ca6149be45e5, see appendix A of https://www.aumasson.jp/siphash/siphash.pdf.
  expect(sipHash48(bytes.subarray(0, 15), sipKeyOf(bytes))).toBe(0xca6149be45e5);
});
