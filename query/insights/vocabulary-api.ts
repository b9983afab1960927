import { z } from 'zod';
import { eventNames, listFields, pageLimit } from './list-api.ts';

const WORDS_SHOWN = 100;

/** `GET /insights/{projectId}/events/names` */
export const eventNamesQuery = z.object({ ...listFields, limit: pageLimit(WORDS_SHOWN) });
export type EventNamesQuery = z.output<typeof eventNamesQuery>;

/** `GET /insights/{projectId}/events/properties`; without `event`, of all but `session_start` and `session_end`. */
export const propertyKeysQuery = eventNamesQuery.extend({ event: eventNames });
export type PropertyKeysQuery = z.output<typeof propertyKeysQuery>;

/** `GET /insights/{projectId}/events/property_values` */
export const propertyValuesQuery = propertyKeysQuery.extend({
  property: z.string().describe('A dotted key.'),
});
export type PropertyValuesQuery = z.output<typeof propertyValuesQuery>;

/** By count, descending, then by name. `count` is the number of events. */
export const namesAnswer = z.array(
  z.object({ name: z.string(), count: z.number().describe('Events that have it.') }),
);
export type NamesAnswer = z.output<typeof namesAnswer>;

/** By count, descending, then by value. */
export const propertyValuesAnswer = z.array(
  z.object({ value: z.string(), count: z.number().describe('Events that have it.') }),
);
export type PropertyValuesAnswer = z.output<typeof propertyValuesAnswer>;
