import type { SeededRandom } from '../../ingest/testing/random.ts';
import type { OwnedLanes } from './owned-lanes.ts';

const NAMES = ['screen_view', 'screen_view', 'click', 'session_start', 'session_end'] as const;
const CURRENCIES = ['EUR', 'USD', 'JPY'] as const;

export interface TrafficOptions {
  readonly events: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Factor of every amount; 1 when absent. Large ones make sums that overflow 64 bits. */
  readonly amountScale?: bigint;
}

let lastId = 0;

/**
 * Random events and session states. The states are not derived from the events, because the answers of this room take both
 * unchanged; only a session's visitor is also the visitor of its events.
 */
export function addTraffic(lanes: OwnedLanes, seeded: SeededRandom, options: TrafficOptions): void {
  const { fromMs, toMs } = options;
  for (let count = 0; count < options.events; count += 1) {
    const lane = seeded.below(lanes.owners.length);
    const owner = lanes.owners[lane];
    const projectId = seeded.below(10) === 0 ? 'other' : 'site';
    const visitor = seeded.below(30);
    lastId += 1;
    const isSale = seeded.below(8) === 0;
    owner?.add({
      id: lastId.toString(16),
      sessionId: seeded.below(5) === 0 ? '' : sessionIdOf(lane, projectId, seeded),
      projectId,
      deviceId: seeded.below(12) === 0 ? '' : `d${lane}-${visitor}`,
      profileId: visitor % 3 === 0 ? `p${visitor % 7}` : '',
      name: isSale ? 'revenue' : seeded.one(NAMES),
      atMs: fromMs + seeded.below(toMs - fromMs),
      revenue: isSale ? BigInt(seeded.below(5_000) - 1_000) * (options.amountScale ?? 1n) : 0n,
      currency: isSale ? seeded.one(CURRENCIES) : '',
    });
    changeSession(lanes, seeded, { lane, projectId, fromMs, toMs });
  }
}

/** Begins a session or continues one. Sometimes a late event moves its begin. */
function changeSession(
  lanes: OwnedLanes,
  seeded: SeededRandom,
  at: {
    readonly lane: number;
    readonly projectId: string;
    readonly fromMs: number;
    readonly toMs: number;
  },
): void {
  const owner = lanes.owners[at.lane];
  const id = sessionIdOf(at.lane, at.projectId, seeded);
  const known = owner?.sessions().find((session) => session.id === id);
  const beganMs = known?.startedAtMs ?? at.fromMs + seeded.below(at.toMs - at.fromMs);
  const startedAtMs =
    seeded.below(10) === 0 ? Math.max(at.fromMs, beganMs - seeded.below(5_400_000)) : beganMs;
  const isNamed = seeded.below(6) === 0;
  owner?.put({
    id,
    projectId: at.projectId,
    profileId: isNamed ? `p${seeded.below(40)}` : (known?.profileId ?? ''),
    startedAtMs,
    endedAtMs: (known?.endedAtMs ?? beganMs) + seeded.below(90_000),
    screenViews: (known?.screenViews ?? 0) + seeded.below(2),
  });
}

function sessionIdOf(lane: number, projectId: string, seeded: SeededRandom): string {
  return `${lane}a${projectId === 'site' ? 1 : 2}b${seeded.below(60).toString(16)}`;
}
