import type { Site } from '../../infra/accounts/accounts.ts';
import { RejectError } from '../reject.ts';
import type { Zone } from '../time/zone.ts';
import type { History } from './history.ts';
import type { HotAnswers, HotView } from './hot-view.ts';

/** What questions are answered from. */
export interface Sources {
  readonly history: History;
  readonly hot: HotView;
}

/** Of which site, and when: the site, its zone, and the time of the question. */
export interface Asked {
  readonly site: Site;
  readonly zone: Zone;
  readonly nowMs: number;
}

/** Throws when a partition's owner gave no answer, unless an answer without it was asked for. */
export function rejectAway({ away, answers }: HotAnswers, partial: boolean): void {
  const first = away[0];
  if (first === undefined || partial) return;
  const which = away.map(({ partition }) => partition).join(', ');
  throw new RejectError(
    'partition-away',
    `part ${which} of ${answers.length} cannot be reached now (${first.reason}); partial=true answers without it`,
  );
}
