import type { Delivery, Integration } from '../../../processor/integration.ts';
import {
  type BackfillShown,
  daysOf,
  type IntegrationShown,
  type IntegrationStatus,
} from './integration-api.ts';

/** An integration as it is returned: without its secret and the stored id of the site. */
export function shownIntegration(
  integration: Integration,
  delivery: Delivery | undefined,
  nowMs: number,
): IntegrationShown {
  const { sealed: _sealed, storedId: _stored, backfills: _backfills, ...shown } = integration;
  return { ...shown, status: statusOf(integration, delivery, nowMs) };
}

/** The progress of an integration; `delivery` is undefined until the processor has started on it. */
export function statusOf(
  integration: Integration,
  delivery: Delivery | undefined,
  nowMs: number,
): IntegrationStatus {
  const { deliveredUntil = null, committedAt = null, failure = null } = delivery ?? {};
  const { sequence = 0, files = 0, rows = 0, bytes = 0 } = delivery ?? {};
  return {
    state: stateOf(integration, delivery),
    failure,
    lagSeconds: deliveredUntil === null ? null : secondsSince(deliveredUntil, nowMs),
    deliveredUntil,
    committedAt,
    sequence,
    files,
    rows,
    bytes,
    backfills: backfillsOf(integration, delivery),
  };
}

/** The listed backfills in the order of delivery. */
export function backfillsOf(
  { backfills }: Pick<Integration, 'backfills'>,
  delivery: Delivery | undefined,
): BackfillShown[] {
  const begun = new Map(delivery?.backfills.map((progress) => [progress.id, progress]));
  return backfills.map((backfill) => {
    const progress = begun.get(backfill.id);
    if (progress === undefined)
      return {
        ...backfill,
        state: 'waiting',
        daysDone: 0,
        daysTotal: daysOf(backfill),
        rows: 0,
        finishedAt: null,
      };
    const { daysDone, daysTotal, rows, finishedAt } = progress;
    return {
      ...backfill,
      state: finishedAt === null ? 'running' : 'done',
      daysDone,
      daysTotal,
      rows,
      finishedAt,
    };
  });
}

function stateOf({ paused }: Integration, delivery: Delivery | undefined): IntegrationStatus['state'] {
  if (paused) return 'paused';
  if (delivery === undefined) return 'starting';
  if (delivery.failure !== null) return 'failing';
  return delivery.deliveredUntil === null ? 'starting' : 'running';
}

/** At least 0, because the processor's clock may be ahead. */
function secondsSince(at: string, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - Date.parse(at)) / 1_000));
}
