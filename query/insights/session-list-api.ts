import { z } from 'zod';
import { listedTexts } from '../filters/visit-schemas.ts';
import { pageLimit, timeListFields } from './list-api.ts';

/** `GET /insights/{projectId}/sessions`: sessions that began in the range. */
export const sessionListQuery = z.object({
  ...timeListFields,
  limit: pageLimit(10),
  profileId: z.string().optional().describe('Only sessions of this profile.'),
});
export type SessionListQuery = z.output<typeof sessionListQuery>;

/** A session in its current state. Unknown texts are empty. Source, location, software and locale come from the entry event. */
export const listedSession = z.object({
  id: z.string().describe('32 hexadecimal digits.'),
  deviceId: z.string(),
  profileId: z.string(),
  startedAt: z.iso.datetime({ precision: 3 }),
  endedAt: z.iso.datetime({ precision: 3 }),
  duration: z.number().describe('Milliseconds from the first to the last event.'),
  isBounce: z.boolean().describe('Whether it has at most one screen view.'),
  screenViews: z.number(),
  events: z.number().describe('Events other than screen views.'),
  entryOrigin: z.string(),
  entryPath: z.string(),
  exitOrigin: z.string(),
  exitPath: z.string(),
  ...listedTexts(),
  revenue: z.number().describe("Major units of the site's currency."),
  revenueByCurrency: z
    .record(z.string(), z.number())
    .describe('Major units by ISO 4217 code, without currencies whose total is 0.'),
});
export type ListedSession = z.output<typeof listedSession>;

/** Newest first, ties by id. */
export const sessionListAnswer = z.array(listedSession);
export type SessionListAnswer = z.output<typeof sessionListAnswer>;
