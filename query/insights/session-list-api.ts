import { z } from 'zod';
import { listFields, pageLimit } from './list-api.ts';

/** `GET /insights/{projectId}/sessions`: those that began in the range. */
export const sessionListQuery = z.object({
  ...listFields,
  limit: pageLimit(10),
  profileId: z.string().optional(),
});
export type SessionListQuery = z.output<typeof sessionListQuery>;

/** A session as it is now. Texts are empty when unknown; source, place and software are those of the entry event. */
export const listedSession = z.object({
  id: z.string(),
  deviceId: z.string(),
  profileId: z.string(),
  startedAt: z.iso.datetime({ precision: 3 }),
  endedAt: z.iso.datetime({ precision: 3 }),
  /** Milliseconds from the first to the last event. */
  duration: z.number(),
  isBounce: z.boolean(),
  screenViews: z.number(),
  /** Events other than screen views. */
  events: z.number(),
  entryOrigin: z.string(),
  entryPath: z.string(),
  exitOrigin: z.string(),
  exitPath: z.string(),
  referrer: z.string(),
  referrerName: z.string(),
  referrerType: z.string(),
  utmSource: z.string(),
  utmMedium: z.string(),
  utmCampaign: z.string(),
  utmTerm: z.string(),
  utmContent: z.string(),
  channel: z.string(),
  country: z.string(),
  region: z.string(),
  city: z.string(),
  browser: z.string(),
  os: z.string(),
  device: z.string(),
  brand: z.string(),
  model: z.string(),
  /** Major units of the site's currency. */
  revenue: z.number(),
  /** Major units by currency; one that sums to nothing is left out. */
  revenueByCurrency: z.record(z.string(), z.number()),
});
export type ListedSession = z.output<typeof listedSession>;

/** Newest first, ties by id. */
export const sessionListAnswer = z.array(listedSession);
export type SessionListAnswer = z.output<typeof sessionListAnswer>;
