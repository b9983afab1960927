import { campaigns } from './campaigns.ts';
import type { CardPlan } from './card-plan.ts';
import { devices } from './devices.ts';
import { events } from './events.ts';
import { pages } from './pages.ts';
import { places } from './places.ts';
import { sources } from './sources.ts';

/** The cards of the overview, in their order. */
export const CARDS: readonly CardPlan[] = [sources, pages, campaigns, places, devices, events];
