import { type HostileDraft, hostileDraft, type Probe, plainDraft } from './drafts.ts';
import type { Ground } from './ground.ts';
import { Measurer } from './measurer.ts';
import { kindOf } from './plan.ts';
import { type MeasuredRequest, type Wrong, wrongs } from './verdict.ts';

/** The failure of a request, and its cost, the least of all repeats. */
export interface CostFinding {
  readonly wrong: Wrong;
  readonly request: string;
  readonly sender: string;
  readonly cpuMs: number;
  readonly growthMb: number;
  /** The longest turn of the event loop, for a batch. */
  readonly turnMs: number;
  /** 0 without an answer. */
  readonly status: number;
  readonly detail: string;
  readonly probe: Probe;
}

export interface HuntOptions {
  readonly open: () => Promise<Ground>;
  /** Sent in any case. */
  readonly always: (ground: Ground) => readonly Probe[];
  /** Sent afterwards, for `durationMs`. */
  readonly plan: (ground: Ground) => Iterable<Probe>;
  readonly durationMs: number;
  readonly findingsMax: number;
  readonly say: (line: string) => void;
}

export interface HuntOutcome {
  readonly findings: readonly CostFinding[];
  readonly sent: number;
  readonly skipped: number;
  /** The number of answers of each status. */
  readonly statuses: ReadonlyMap<number, number>;
}

const SHOWN_MAX = 120;
const CHECK_EVERY = 400;
/** After this number of findings at one kind of place, its other families are skipped. */
const FINDINGS_OF_PLACE_MAX = 3;
const PROGRESS_EVERY_MS = 10_000;

/** Sends one hostile request after the other and measures each. Restarts the service where one ends it, and continues. */
export async function hunt(options: HuntOptions): Promise<HuntOutcome> {
  const { open, findingsMax, say } = options;
  const findings: CostFinding[] = [];
  const statuses = new Map<number, number>();
  const found = new Map<string, number>();
  let [sent, skipped, saidAtMs] = [0, 0, Date.now()];
  let ground = await open();
  const probes: Probe[] = [];
  const add = (finding: CostFinding) => {
    findings.push(finding);
    say(shownFinding(finding));
    const { place, family } = finding.probe;
    for (const key of [kindOf(place), `${kindOf(place)} ${family}`])
      found.set(key, (found.get(key) ?? 0) + 1);
  };
  try {
    for (const probe of probesOf(options, ground)) {
      if (findings.length >= findingsMax) break;
      const kind = kindOf(probe.place);
      if (found.has(`${kind} ${probe.family}`) || (found.get(kind) ?? 0) >= FINDINGS_OF_PLACE_MAX) {
        skipped += 1;
        continue;
      }
      const measurer = new Measurer(ground, sent);
      const draft = hostileDraft(ground.sources, probe);
      const first = await measurer.measure(draft);
      sent += 1;
      statuses.set(first.status, (statuses.get(first.status) ?? 0) + 1);
      probes.push(probe);
      const wrong = wrongs(first, draft)[0];
      const finding =
        wrong === undefined
          ? undefined
          : await confirmed(measurer, {
              draft,
              plain: plainDraft(ground.sources, probe),
              probe,
              wrong,
              first,
            });
      measurer.close();
      if (finding !== undefined) add(finding);
      const isRisky = probe.place.kind === 'batch' && probe.family === 'numbers';
      if (isRisky || sent % CHECK_EVERY === 0) {
        if (!(await ground.works())) {
          add(stopped(probe, draft, probes.length));
          await ground.stop();
          ground = await open();
        }
        probes.length = 0;
      }
      if (Date.now() - saidAtMs > PROGRESS_EVERY_MS) {
        saidAtMs = Date.now();
        say(`${sent} requests, ${findings.length} findings, ${skipped} skipped`);
      }
    }
    const [last] = probes.slice(-1);
    if (last !== undefined && !(await ground.works()))
      add(stopped(last, hostileDraft(ground.sources, last), probes.length));
  } finally {
    await ground.stop();
  }
  return { findings, sent, skipped, statuses };
}

/** The finding, if the same is wrong each time that the request is sent again. */
async function confirmed(
  measurer: Measurer,
  { draft, plain, probe, wrong, first }: Suspicion,
): Promise<CostFinding | undefined> {
  const least = await measurer.leastOf(draft, plain, first, wrong);
  if (least === undefined) return undefined;
  const { cpuMs, growthMb, turnMs, status, detail, answerText } = least;
  return {
    ...{
      wrong,
      request: shownRequest(probe, draft),
      sender: probe.sender,
      cpuMs,
      growthMb,
      turnMs,
      status,
      probe,
    },
    detail: detail || answerText.slice(0, SHOWN_MAX),
  };
}

interface Suspicion {
  readonly draft: HostileDraft;
  readonly plain: HostileDraft;
  readonly probe: Probe;
  readonly wrong: Wrong;
  readonly first: MeasuredRequest;
}

function* probesOf({ always, plan, durationMs }: HuntOptions, ground: Ground): Generator<Probe> {
  yield* always(ground);
  const endAtMs = Date.now() + durationMs;
  for (const probe of plan(ground)) {
    if (Date.now() > endAtMs) return;
    yield probe;
  }
}

function stopped(probe: Probe, draft: HostileDraft, among: number): CostFinding {
  return {
    ...{ wrong: 'lane stopped', request: shownRequest(probe, draft), sender: probe.sender, probe },
    ...{ cpuMs: 0, growthMb: 0, turnMs: 0, status: 0 },
    detail: `an event of another sender was not stored; one of ${among} requests is the cause`,
  };
}

function shownRequest({ place }: Probe, { method, label }: HostileDraft): string {
  return `${method} ${place.operation.path} ${place.kind} ${place.name}: ${label}`;
}

/** One line of a report. */
export function shownFinding(finding: CostFinding): string {
  const { wrong, request, sender, cpuMs, growthMb, turnMs, status, detail, probe } = finding;
  const cost = `${cpuMs.toFixed(0)} ms CPU, turn ${turnMs.toFixed(0)} ms, ${growthMb.toFixed(0)} MB`;
  return `${wrong} | ${request} | ${sender} | ${cost} | ${status} | ${detail} | seed ${probe.seed}`;
}
