import { type CardPlan, eventTab } from './card-plan.ts';

export const events: CardPlan = {
  id: 'events',
  title: 'Events',
  tabs: [eventTab('names', 'Events')],
};
