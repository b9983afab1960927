import { z } from 'zod';
import { common, flag } from '../api.ts';
import { idCursorField } from '../cursor.ts';
import { pageLimit } from '../insights/list-api.ts';
import { searchField } from './profile-list-api.ts';

const partial = flag.describe('Answer without data that cannot be reached now, instead of with 503.');

/** `GET /insights/{projectId}/groups` */
export const groupListQuery = z.object({
  search: searchField.describe(
    'Only groups whose id or name contains this text, in upper or lower case. At most 256 characters.',
  ),
  type: z.string().optional().describe('Only groups of this type, exactly.'),
  limit: pageLimit(10),
  cursor: idCursorField,
  partial,
});
export type GroupListQuery = z.output<typeof groupListQuery>;

const instant = z.iso.datetime({ precision: 3 });
const members = z.number().describe('Profiles that are assigned to it now.');

/** A group as lists show it. */
export const listedGroup = z.object({
  id: z.string(),
  type: z.string().describe('Empty for a group that only assignments name.'),
  name: z.string().describe('The id, for a group that only assignments name.'),
  properties: z.record(z.string(), z.string()).describe('Text by dotted key.'),
  createdAt: instant.nullable().describe('Time of the first update, in UTC; null if no update describes it.'),
  updatedAt: instant.nullable().describe('Time of the last update, in UTC; null if no update describes it.'),
  members,
});
export type ListedGroup = z.output<typeof listedGroup>;

export const groupListAnswer = z.array(listedGroup);
export type GroupListAnswer = z.output<typeof groupListAnswer>;

/** `GET /insights/{projectId}/groups/types` */
export const groupTypesQuery = z.object({ partial });
export type GroupTypesQuery = z.output<typeof groupTypesQuery>;

export const groupTypesAnswer = z.array(
  z.object({
    type: z.string().describe('Empty for groups without a type.'),
    groups: z.number().describe('Groups of the type.'),
  }),
);
export type GroupTypesAnswer = z.output<typeof groupTypesAnswer>;

/** `GET /insights/{projectId}/groups/{groupId}/metrics` */
export const groupMetricsQuery = z.object(common);
export type GroupMetricsQuery = z.output<typeof groupMetricsQuery>;

export const groupMetricsAnswer = z.object({
  groupId: z.string(),
  members,
  activeMembers: z.number().describe('Members that are the visitor of one of the `events`.'),
  sessions: z.number().describe('Sessions that began in the range and whose profile is a member now.'),
  events: z
    .number()
    .describe(
      'Events in the range that name the group or whose visitor is a member, each once; without `session_start` and `session_end`.',
    ),
  screenViews: z.number().describe('Those of the events that are screen views.'),
  revenue: z.number().describe("Revenue of the events in major units of the site's currency."),
  revenueByCurrency: z
    .record(z.string(), z.number())
    .describe('Major units by ISO 4217 code, without currencies whose total is 0.'),
  partial: z
    .literal(true)
    .optional()
    .describe('Present when data could not be reached and the request has `partial=true`.'),
});
export type GroupMetricsAnswer = z.output<typeof groupMetricsAnswer>;
