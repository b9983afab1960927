/** Does `work` for all, a few at a time; results in the order of `all`. After the first error nothing more is begun. */
export async function fewAtOnce<One, Result>(
  all: readonly One[],
  atOnce: number,
  work: (one: One) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const rest = all.entries();
  let failed = false;
  const worker = async () => {
    for (const [index, one] of rest) {
      if (failed) return;
      try {
        results[index] = await work(one);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
