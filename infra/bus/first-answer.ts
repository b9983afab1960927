import { busError, isForming } from './bus-error.ts';

const AGAIN_EVERY_MS = 1_000;
const ASKING_MAX_MS = 5_000;

/**
 * The first answer to a question that changes nothing. A cluster that has lost a server drops requests silently until
 * it has chosen a leader. So the question is asked again every second until there is an answer. Earlier attempts stay
 * open, since a busy server may only be slow. `drop` gets the answers after the first.
 * @throws the first error other than silence; after five seconds, the error of an unanswered attempt
 */
export function firstAnswer<Answer>(
  ask: () => Promise<Answer>,
  drop: (late: Answer) => void = () => {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const endMs = performance.now() + ASKING_MAX_MS;
    let running = 0;
    let isOver = false;
    let lastError: unknown;
    const end = (settle: () => void) => {
      isOver = true;
      clearInterval(timer);
      settle();
    };
    const attempt = () => {
      running += 1;
      ask()
        .then(
          (answer) => (isOver ? drop(answer) : end(() => resolve(answer))),
          (error: unknown) => {
            lastError = error;
            const isHopeless = !isForming(busError('ask', error)) || performance.now() >= endMs;
            if (!isOver && isHopeless) end(() => reject(error));
          },
        )
        .finally(() => {
          running -= 1;
        });
    };
    const timer = setInterval(() => {
      if (performance.now() < endMs) attempt();
      else if (running === 0) end(() => reject(lastError));
    }, AGAIN_EVERY_MS);
    attempt();
  });
}
