import { z } from 'zod';
import type { ExportGroup } from '../../processor/event-export.ts';
import { exportedEvent } from '../api.ts';
import { eventNames, hexId, pageLimit, timeListFields } from './list-api.ts';

/** `GET /insights/{projectId}/events`; without `event`, all but `session_start` and `session_end`. */
export const eventListQuery = z.object({
  ...timeListFields,
  limit: pageLimit(10),
  event: eventNames,
  profileId: z.string().optional().describe('Only events of this profile.'),
  sessionId: hexId.optional().describe('Only events of this session: 32 hexadecimal digits.'),
});
export type EventListQuery = z.output<typeof eventListQuery>;

/** The field groups of the export that a listed event has. */
export const LISTED_INCLUDES: readonly ExportGroup[] = [
  'properties',
  'referrer',
  'geo',
  'device',
  'revenue',
  'utm',
];

/** Newest first, ties by id. */
export const eventListAnswer = z.array(exportedEvent);
export type EventListAnswer = z.output<typeof eventListAnswer>;
