import type { Store } from '../../infra/store/store.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import { decodeHotQuestion, encodeHotAnswer } from '../../processor/hot.ts';
import { EVENTS_COLUMNS, EVENTS_TABLE } from '../../processor/rows.ts';
import type { HotView } from '../snapshot/hot-view.ts';
import { hotViewOver } from './hot-view.ts';
import { hoursOf } from './hours.ts';
import { type EventColumn, eventBytes, type Row } from './row-writer.ts';

const LANES = 2;
/** The flushes that bring the events of a test, numbered from 1. */
export const FLUSHES = 4;

/** An event with everything that lists of events show and filter by. */
export interface FlushedEvent {
  readonly lane: number;
  readonly flushNumber: number;
  readonly id: string;
  readonly sessionId: string;
  readonly projectId: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly name: string;
  readonly atMs: number;
  readonly path: string;
  /** Keys and values alternate. */
  readonly properties: readonly string[];
}

const NAMES = ['screen_view', 'screen_view', 'click', 'sign up', 'session_start', 'session_end'] as const;
const KEYS = ['plan', 'colour', '__proto__', 'ключ'] as const;
const VALUES = ['', 'free', 'pro', "o'hara", '東京'] as const;

/** Events with known rows. Some are in the store and the others are hot. */
export class FlushedEvents {
  readonly all: readonly FlushedEvent[];

  /** Random events between two times, many of them in the same minute. */
  constructor(
    seeded: SeededRandom,
    times: { readonly events: number; readonly fromMs: number; readonly toMs: number },
  ) {
    this.all = Array.from({ length: times.events }, (_, index) => eventOf(seeded, index + 1, times));
  }

  /** The events of the site under test. */
  get ours(): readonly FlushedEvent[] {
    return this.all.filter(({ projectId }) => projectId === 'site');
  }

  /** Writes one flush of every lane to the store. */
  async land(store: Store, flushNumber: number): Promise<void> {
    for (let lane = 0; lane < LANES; lane += 1) {
      const rows = this.#rows((event) => event.lane === lane && event.flushNumber === flushNumber);
      const key = `${lane}:${flushNumber}`;
      await store.insertRowBinary(EVENTS_TABLE, EVENTS_COLUMNS, [eventBytes(rows)], key);
    }
  }

  /** A hot view of owners that know the flushes up to `known` to be complete, whatever is in the store. */
  hotView(known: number): HotView {
    const ask = async (subject: string, bytes: Uint8Array) => {
      const question = decodeHotQuestion(bytes);
      const lane = Number(subject.slice('hot.'.length));
      const rows = this.#rows(
        (event) => event.lane === lane && event.flushNumber > known && event.projectId === question.projectId,
      );
      const events = eventBytes(rows);
      const counts = {
        eventBytes: events.length,
        sessionBytes: 0,
        eventRows: rows.length,
        sessionRows: 0,
        hours: hoursOf(rows.map(({ createdAt }) => Number(createdAt))),
      };
      return encodeHotAnswer({ kind: 'rows', partition: lane, flushNumber: known, ...counts }, events);
    };
    return hotViewOver(ask, LANES);
  }

  #rows(isWanted: (event: FlushedEvent) => boolean): Row<EventColumn>[] {
    return this.all.filter(isWanted).map(({ atMs, lane, ...columns }) => ({
      ...columns,
      partition: lane,
      createdAt: atMs,
      receivedAt: atMs,
    }));
  }
}

function eventOf(
  seeded: SeededRandom,
  number: number,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): FlushedEvent {
  const lane = seeded.below(LANES);
  const visitor = seeded.below(40);
  const properties = KEYS.flatMap((key) => (seeded.chance(0.4) ? [key, seeded.one(VALUES)] : []));
  return {
    lane,
    flushNumber: seeded.integer(1, FLUSHES),
    // Ids do not rise with time, so sorting by id differs from sorting by time.
    id: Math.imul(number, 0x9e3779b1).toString(16).replace('-', 'f').padStart(32, '0'),
    sessionId: `${lane}a${visitor}`.padStart(32, '0'),
    projectId: seeded.chance(0.1) ? 'other' : 'site',
    deviceId: seeded.chance(0.05) ? '' : `d${lane}-${visitor}`,
    profileId: visitor % 3 === 0 ? `p${visitor % 7}` : '',
    name: seeded.one(NAMES),
    atMs: Math.floor(seeded.integer(fromMs, toMs - 1) / 60_000) * 60_000,
    path: `/${number}`,
    properties,
  };
}
