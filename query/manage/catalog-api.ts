import { z } from 'zod';

/** CONTRACT with those who manage: references, dashboards and reports, as they are stored and as they are answered. */

const instant = z.iso.datetime();

/** A date that matters to a site, to be marked on charts. */
export const referenceSchema = z.object({
  id: z.uuid(),
  projectId: z.string(),
  title: z.string(),
  description: z.string(),
  date: instant,
  createdAt: instant,
  updatedAt: instant,
});

export const dashboardSchema = z.object({
  id: z.uuid(),
  projectId: z.string(),
  name: z.string(),
  createdAt: instant,
  updatedAt: instant,
});

export const reportSchema = z.object({
  id: z.uuid(),
  projectId: z.string(),
  dashboardId: z.uuid(),
  name: z.string(),
  createdAt: instant,
  updatedAt: instant,
});
