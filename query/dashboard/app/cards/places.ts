import { country, language } from '../data/format.ts';
import { type CardPlan, dimensionTab } from './card-plan.ts';

const unknown = 'Unknown';
const countries = dimensionTab('country', 'Countries', { unknown, labelOf: country });

export const places: CardPlan = {
  id: 'places',
  title: 'Places',
  tabs: [
    countries,
    { ...countries, id: 'map', title: 'Map', isMap: true },
    dimensionTab('region', 'Regions', { unknown, parent: 'country', parentLabelOf: country }),
    dimensionTab('city', 'Cities', { unknown, parent: 'country', parentLabelOf: country }),
    dimensionTab('language', 'Languages', { unknown, labelOf: language }),
  ],
};
