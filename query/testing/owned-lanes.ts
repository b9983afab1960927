import { type Site, siteSchema } from '../../infra/accounts/accounts.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { decodeHotQuestion } from '../../processor/hot.ts';
import type { HotView } from '../snapshot/hot-view.ts';
import { hotViewOver } from './hot-view.ts';
import { OwnerModel, type SeenModelEvent } from './owner-model.ts';

/** Lanes and their owners, which are called directly instead of over a bus. */
export class OwnedLanes {
  readonly owners: readonly OwnerModel[];

  constructor(lanes: number) {
    this.owners = Array.from({ length: lanes }, (_, lane) => new OwnerModel(lane));
  }

  /** A new hot view, so it fetches the present hot rows. */
  hotView(): HotView {
    const ask = async (subject: string, bytes: Uint8Array) => {
      const owner = this.owners[Number(subject.slice('hot.'.length))];
      if (owner === undefined) throw new BusError('no owner', 'no-responders', undefined);
      return owner.answer(decodeHotQuestion(bytes));
    };
    return hotViewOver(ask, this.owners.length);
  }

  /** Every event of a site. */
  events(projectId: string): SeenModelEvent[] {
    return this.owners.flatMap((owner) => owner.seen().filter((event) => event.projectId === projectId));
  }
}

/** A site of the tests. */
export function modelSite(id: string, timezone = 'UTC', currency = 'EUR'): Site {
  const at = '2026-01-01T00:00:00.000Z';
  return siteSchema.parse({ id, teamId: 'team', name: id, timezone, currency, createdAt: at, updatedAt: at });
}
