import { type CardPlan, dimensionTab } from './card-plan.ts';

export const sources: CardPlan = {
  id: 'sources',
  title: 'Sources',
  tabs: [
    dimensionTab('referrer_name', 'Sources', { unknown: 'Direct / none' }),
    dimensionTab('channel', 'Channels', { unknown: 'Unknown' }),
    dimensionTab('referrer', 'Referrers', { unknown: 'Direct / none' }),
  ],
};
