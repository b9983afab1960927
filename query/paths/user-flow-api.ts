import { z } from 'zod';
import { common, wholeNumber } from '../api.ts';

/** CONTRACT of `GET /insights/{projectId}/user_flow`: its parameters and answer. */

const DEPTH_MAX = 8;
const NODES_MAX = 30;
const START_MAX = 4_096;

/** `GET /insights/{projectId}/user_flow` */
export const userFlowQuery = z.object({
  ...common,
  by: z
    .enum(['pages', 'events'])
    .default('pages')
    .describe(
      'What the nodes are. `pages`: paths of screen views. `events`: names of events, without `session_start` and `session_end`.',
    ),
  start: z
    .string()
    .max(START_MAX, `expected at most ${START_MAX} characters`)
    .optional()
    .describe(
      'The path or event name of column 0. Sessions without it do not count. Default: whatever a session begins with; backward, whatever it ends with.',
    ),
  direction: z
    .enum(['forward', 'backward'])
    .default('forward')
    .describe('`forward`: what comes after `start`. `backward`: what came before it.'),
  depth: wholeNumber(1, DEPTH_MAX)
    .default(4)
    .describe('How many steps to follow from column 0, so the last column has this number.'),
  limit: wholeNumber(1, NODES_MAX)
    .default(8)
    .describe(
      'The most values with a node of their own in each column: those with most sessions, ties by value. All others of the column are together one node, marked `isOther`.',
    ),
});
export type UserFlowQuery = z.output<typeof userFlowQuery>;

const flowNode = z.object({
  id: z
    .string()
    .describe(
      'The column and the value, as in `1:value:/pricing`; `1:other` and `1:exit` for the other two kinds.',
    ),
  column: z.number().describe('Steps from column 0.'),
  value: z.string().nullable().describe('The path or event name; null for `isOther` and `isExit`.'),
  sessions: z.number().describe('Sessions that are at this node in this column.'),
  isOther: z.boolean().describe('Whether the node is all other values of its column.'),
  isExit: z
    .boolean()
    .describe(
      'Whether the node stands for the sessions that have no further value: that ended so far at the node before; backward, that began there.',
    ),
});

/** Nodes by column, and the links from each column to the next. */
export const userFlowAnswer = z.object({
  nodes: z
    .array(flowNode)
    .describe('By column; in a column most sessions first, ties by value, then `isOther`, then `isExit`.'),
  links: z
    .array(
      z.object({
        source: z.string().describe('The id of a node.'),
        target: z.string().describe('The id of a node of the next column.'),
        sessions: z.number().describe('Sessions that go from one to the other.'),
      }),
    )
    .describe('In the order of their sources, then of their targets.'),
  sessions: z.number().describe('Sessions of the flow: the sum of the nodes of column 0.'),
  partial: z
    .literal(true)
    .optional()
    .describe('Present when data could not be reached and the request has `partial=true`.'),
});
export type UserFlowAnswer = z.output<typeof userFlowAnswer>;
