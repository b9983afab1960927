import { type CardPlan, dimensionTab, pageTab } from './card-plan.ts';

export const pages: CardPlan = {
  id: 'pages',
  title: 'Pages',
  tabs: [
    pageTab('top', 'Top pages'),
    pageTab('entry', 'Entry pages', 'entry'),
    pageTab('exit', 'Exit pages', 'exit'),
    dimensionTab('entry_hostname', 'Host names', { unknown: 'Unknown' }),
  ],
};
