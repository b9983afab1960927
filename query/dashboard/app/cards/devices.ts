import { type CardPlan, dimensionTab } from './card-plan.ts';

const unknown = 'Unknown';

export const devices: CardPlan = {
  id: 'devices',
  title: 'Devices',
  tabs: [
    dimensionTab('browser', 'Browsers', { unknown }),
    dimensionTab('os', 'Systems', { unknown }),
    dimensionTab('device', 'Devices', { unknown }),
    dimensionTab('browser_version', 'Versions', { unknown, parent: 'browser' }),
    dimensionTab('screen', 'Screens', { unknown }),
  ],
};
