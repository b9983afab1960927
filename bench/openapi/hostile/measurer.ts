import { setTimeout as wait } from 'node:timers/promises';
import { type RawAnswer, RawConnection } from '../connection.ts';
import { decoded } from '../fuzz.ts';
import { breachOf } from '../judge.ts';
import { bytesOf } from '../requests.ts';
import type { ProcessMeter } from './cost.ts';
import type { HostileDraft } from './drafts.ts';
import type { Ground } from './ground.ts';
import { cpuMaxMs, type MeasuredRequest, showsAgain, type Wrong, wrongs } from './verdict.ts';

/** A finding counts only if each repeat shows it: other work of the process and of the machine is no reason. */
const REPEATS = 3;
/** A good request equally slow at the same time shows that the machine is slow, not that the value is hostile. */
const PLAIN_FACTOR = 2;
/** This multiple of the allowed CPU time is no noise; one repeat is enough. */
const CLEAR_FACTOR = 10;
/** Long, so that CPU time shows the cost of a request, also on a busy machine. */
const TIMEOUT_MS = 90_000;
const COLLECTED_AFTER_MS = 150;
/** A process that uses less CPU time than this in a window has finished the remaining work of earlier requests. */
const QUIET = { windowMs: 100, cpuMs: 5, windowsMax: 100 } as const;
const TINY = 'GET /healthz/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
/** A longer request line may arrive in two pieces, to which the library answers 505 (`infra/http/README.md`). */
const LINE_WHOLE_BYTES = 32_000;
const SPLIT_LINE = 'HTTP Version Not Supported';
/** Behind `HEAD_MAX_BYTES` of infra/http/http.ts, without its spaces and line ends. */
const HEAD_LARGE_BYTES = 65_000;

/** Sends one draft from its own address. */
export class Measurer {
  readonly #ground: Ground;
  readonly #tiny: RawConnection;
  readonly #connection: RawConnection;
  readonly #host: string;

  constructor(ground: Ground, sent: number) {
    this.#ground = ground;
    const { host, port } = new URL(ground.url);
    this.#host = host;
    this.#tiny = new RawConnection(Number(port), '127.0.0.1', TIMEOUT_MS);
    // Limits of an address count failures, of which most of these requests are one.
    const address = `127.${1 + ((sent >> 14) % 250)}.${(sent >> 7) % 128}.${1 + (sent % 128)}`;
    this.#connection = new RawConnection(Number(port), address, TIMEOUT_MS);
  }

  async measure(draft: HostileDraft): Promise<MeasuredRequest> {
    const ground = this.#ground;
    const { meter } = ground;
    const bytes = bytesOf(draft, this.#host);
    await this.#answeredTiny();
    meter.beginMemory();
    const cpuBefore = meter.cpuMs();
    let isDone = false;
    const exchanged = this.#connection
      .exchange(bytes, draft.method === 'HEAD')
      .then(decoded)
      .then((answer) => ({ answer, detail: '' }))
      .catch((error: unknown) => ({ answer: undefined, detail: `no answer: ${String(error)}` }))
      .finally(() => {
        isDone = true;
      });
    const turnMs = draft.items > 1 ? await this.#longestTurn(meter, () => isDone) : 0;
    const { answer, detail } = await exchanged;
    const status = answer?.status ?? 0;
    const answerText = answer?.body.toString('utf8') ?? '';
    // Remaining work of the request runs before another request is answered.
    if (!(await this.#answeredTiny())) {
      const end = ground.isUp ? 'the process answers nothing else' : 'the process ended';
      return { cpuMs: 0, growthMb: 0, turnMs, status, answerText, detail: `${end} ${detail}`, isUp: false };
    }
    if (detail.includes(SPLIT_LINE) && bytes.indexOf('\r\n') > LINE_WHOLE_BYTES)
      return { cpuMs: 0, growthMb: 0, turnMs, status: 505, answerText, detail: '', isUp: true };
    const breach = answer === undefined ? detail : this.#breachOf(draft, bytes, answer);
    const cost = { cpuMs: meter.cpuMs() - cpuBefore, growthMb: meter.growthMb(), turnMs };
    return { ...cost, status, answerText, detail: breach, isUp: true };
  }

  /**
   * Returns the least cost of several repeats; undefined if one of them does not show the failure.
   * @param plain the request without its hostile part
   */
  async leastOf(
    draft: HostileDraft,
    plain: HostileDraft,
    first: MeasuredRequest,
    wrong: Wrong,
  ): Promise<MeasuredRequest | undefined> {
    let least = first;
    if (!first.isUp) await this.#ground.restart();
    const repeats = first.cpuMs > CLEAR_FACTOR * cpuMaxMs(draft) ? 1 : REPEATS;
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      if (wrong === 'memory') await this.#collect();
      if (wrong === 'cpu') await this.#quiet();
      const plainMs = wrong === 'cpu' ? (await this.measure(plain)).cpuMs : 0;
      const again = await this.measure(draft);
      if (!again.isUp) await this.#ground.restart();
      if (wrong === 'cpu' && again.isUp && again.cpuMs < PLAIN_FACTOR * plainMs) return undefined;
      if (!showsAgain(wrong, wrongs(again, draft))) return undefined;
      least = {
        ...again,
        cpuMs: Math.min(least.cpuMs, again.cpuMs),
        // Only the repeats begin without garbage.
        growthMb: repeat === 0 ? again.growthMb : Math.min(least.growthMb, again.growthMb),
        turnMs: Math.min(least.turnMs, again.turnMs),
      };
    }
    return least;
  }

  close(): void {
    this.#connection.close();
    this.#tiny.close();
  }

  /** CPU time of the event loop between a tiny request and its answer, at its longest while the other is open. */
  async #longestTurn(meter: ProcessMeter, isDone: () => boolean): Promise<number> {
    let longest = 0;
    do {
      const before = meter.loopCpuMs();
      if (!(await this.#answeredTiny())) return longest;
      longest = Math.max(longest, meter.loopCpuMs() - before);
    } while (!isDone());
    return longest;
  }

  async #answeredTiny(): Promise<boolean> {
    return this.#tiny.exchange(Buffer.from(TINY)).then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  #breachOf(draft: HostileDraft, bytes: Buffer, answer: RawAnswer): string {
    const isHeadLarge = bytes.indexOf('\r\n\r\n') > HEAD_LARGE_BYTES;
    if (answer.status === 431 && !isHeadLarge) return `431 for ${bytes.length} bytes`;
    return breachOf(this.#ground.law, draft.method, draft.path, answer) ?? '';
  }

  async #collect(): Promise<void> {
    this.#ground.meter.collectGarbage();
    await wait(COLLECTED_AFTER_MS);
  }

  /**
   * Waits while the service works on remains of earlier requests. Where the processor is late, a request waits 2 s for the
   * session of its visitor, and the process's other work would count as CPU time of this request.
   */
  async #quiet(): Promise<void> {
    const { meter } = this.#ground;
    await this.#ground.works();
    for (let window = 0; window < QUIET.windowsMax; window += 1) {
      const before = meter.cpuMs();
      await wait(QUIET.windowMs);
      if (meter.cpuMs() - before < QUIET.cpuMs) return;
    }
  }
}
