import { type CardPlan, dimensionTab } from './card-plan.ts';

const unknown = 'Without';

export const campaigns: CardPlan = {
  id: 'campaigns',
  title: 'Campaigns (UTM)',
  tabs: [
    dimensionTab('utm_campaign', 'Campaigns', { unknown }),
    dimensionTab('utm_source', 'Sources', { unknown }),
    dimensionTab('utm_medium', 'Media', { unknown }),
    dimensionTab('utm_term', 'Terms', { unknown }),
    dimensionTab('utm_content', 'Contents', { unknown }),
  ],
};
