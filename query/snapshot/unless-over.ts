import { StoreAwayError } from './store-rejects.ts';

/** The answer. If `over` aborts first, stops waiting and throws a `StoreAwayError`. */
export async function unlessOver<Result>(
  answer: Promise<Result>,
  over: AbortSignal,
  onOver: () => void,
): Promise<Result> {
  let end = () => {};
  const ended = new Promise<never>((_resolve, reject) => {
    end = () => {
      onOver();
      reject(new StoreAwayError(undefined));
    };
  });
  over.addEventListener('abort', end, { once: true });
  if (over.aborted) end();
  try {
    return await Promise.race([answer, ended]);
  } finally {
    over.removeEventListener('abort', end);
  }
}
