import type { Bus } from '../../infra/bus/bus.ts';
import { DEAD_LETTERS_STREAM, decodeDeadLetter } from '../dead-letters/dead-letter.ts';

/**
 * Removes the dead letters that contain all of these texts as values. Dead letters cannot be decoded, so their bytes
 * are searched: a text is preceded by its length, or in quotes.
 */
export async function removeDeadLetters(bus: Bus, texts: readonly string[]): Promise<void> {
  const needles = texts.map((text) => {
    const bytes = Buffer.from(text);
    return [Buffer.concat([lengthOf(bytes.length), bytes]), Buffer.from(JSON.stringify(text))] as const;
  });
  for await (const { sequence, bytes } of bus.messages(DEAD_LETTERS_STREAM)) {
    const letter = Buffer.from(decodeDeadLetter(bytes).bytes);
    if (needles.every((forms) => forms.some((form) => letter.includes(form))))
      await bus.remove(DEAD_LETTERS_STREAM, sequence);
  }
}

function lengthOf(length: number): Buffer {
  const bytes: number[] = [];
  let rest = length;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}
