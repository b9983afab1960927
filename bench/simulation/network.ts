import type { VirtualTime } from './virtual-time.ts';

/** Probabilities that calls fail now; shares of 1. */
export interface Weather {
  readonly requestsLost: number;
  readonly answersLost: number;
  /** Messages that the bus sends to a consumer and that never arrive, or arrive twice. */
  readonly deliveriesLost: number;
  readonly deliveriesRepeated: number;
  /** Requests or answers that take as long as `slowMs`: longer than a lease. */
  readonly slow: number;
}

export const FAIR: Weather = {
  requestsLost: 0,
  answersLost: 0,
  deliveriesLost: 0,
  deliveriesRepeated: 0,
  slow: 0,
};

const SLOW_MS = 4_000;
const QUICK_MS = 12;

/** A call of a server. */
export interface Call<Result> {
  readonly what: string;
  /** The server's action when the request arrives. */
  readonly act: () => Result | Promise<Result>;
  /** The caller's error when no answer comes. */
  readonly silence: () => Error;
  readonly timeoutMs: number;
  /** The bus, which an actor may be cut off from, or the store. */
  readonly server: 'bus' | 'store';
}

/** Between the actors and the servers: delays, loses and reorders, as the seed decides. */
export class Network {
  readonly time: VirtualTime;
  readonly #happened: Map<string, number>;
  weather: Weather = FAIR;

  constructor(time: VirtualTime, happened: Map<string, number>) {
    this.time = time;
    this.#happened = happened;
  }

  /** Counts something that happened, under the name that the report shows. */
  count(what: string): void {
    this.#happened.set(what, (this.#happened.get(what) ?? 0) + 1);
  }

  delayMs(): number {
    const { random } = this.time;
    if (this.weather.slow > 0 && random.chance(this.weather.slow)) {
      this.count('slow messages');
      return random.next() * SLOW_MS;
    }
    return 0.2 + random.next() ** 3 * QUICK_MS;
  }

  /** Calls a server on behalf of the actor whose turn it is. The call of a dead actor never begins. */
  call<Result>({ what, act, silence, timeoutMs, server }: Call<Result>): Promise<Result> {
    const { time, weather } = this;
    const { actor, random } = time;
    if (actor?.isAlive === false) return new Promise(() => {});
    const isCutOff = () => server === 'bus' && actor !== undefined && actor.cutOffUntilMs > time.nowMs;
    if (isCutOff()) this.count('requests of who is cut off');
    const isRequestLost = isCutOff() || (weather.requestsLost > 0 && random.chance(weather.requestsLost));
    const isAnswerLost = weather.answersLost > 0 && random.chance(weather.answersLost);
    return new Promise((resolve, reject) => {
      const giveUpMs = (isRequestLost || isAnswerLost) && random.chance(0.8) ? this.delayMs() * 4 : timeoutMs;
      const stop = time.plan(giveUpMs, actor, `${what}: no answer`, () => reject(silence()));
      if (isRequestLost) {
        this.count('requests lost');
        return;
      }
      const answer = (settle: () => void) => {
        if (isAnswerLost || isCutOff()) {
          this.count('answers lost');
          return;
        }
        time.plan(this.delayMs(), actor, `${what} answered`, () => {
          stop();
          settle();
        });
      };
      time.plan(this.delayMs(), undefined, what, () => {
        try {
          const result = act();
          if (!(result instanceof Promise)) answer(() => resolve(result));
          else
            result.then(
              (value) => answer(() => resolve(value)),
              (error: unknown) => answer(() => reject(error)),
            );
        } catch (error) {
          answer(() => reject(error));
        }
      });
    });
  }
}
