import { z } from 'zod';
import { bucketDate, flag, visitorsNow, wholeNumber } from '../api.ts';

/** The contract with widgets and other clients below `/live`: parameters and answers. */

const TOKEN_MAX = 1_024;
const LABEL_MAX = 60;

/** Colour names of badges, besides three or six hexadecimal digits. */
export const COLOR_NAMES = {
  brightgreen: '#3fb911',
  green: '#2f8a0c',
  yellow: '#a98600',
  orange: '#c2560a',
  red: '#c8372d',
  blue: '#0b6fb8',
  purple: '#7a48b5',
  grey: '#5c6370',
} as const;

const token = z
  .string()
  .max(TOKEN_MAX)
  .optional()
  .describe(
    'A token of `GET /insights/{projectId}/live/token`, for a site that is not public. Browsers can send no headers with a WebSocket or an image.',
  );
const label = (preset: string) =>
  z.string().max(LABEL_MAX, `expected at most ${LABEL_MAX} characters`).default(preset);

/** The parameters of every path below `/live`. */
export const connectionQuery = z.object({ token });

export const numberQuery = z.object({
  token,
  details: flag.describe(
    'Also answer with pages and the last 30 minutes, at most five seconds old; for a client, and for a token made with `wall=true`, with referrers, too.',
  ),
  today: flag.describe(
    'Also answer with the visitors of today, at most 30 seconds old; for a client, and for a token made with `wall=true`.',
  ),
});
export type NumberQuery = z.output<typeof numberQuery>;

export const badgeQuery = z.object({
  token,
  label: label('live visitors').describe(`The text left of the number, at most ${LABEL_MAX} characters.`),
  color: z
    .string()
    .regex(
      new RegExp(`^(?:#?[0-9a-f]{3}|#?[0-9a-f]{6}|${Object.keys(COLOR_NAMES).join('|')})$`, 'i'),
      `expected ${Object.keys(COLOR_NAMES).join(', ')}, or three or six hexadecimal digits`,
    )
    .default('green')
    .describe(
      `The colour behind the number: ${Object.keys(COLOR_NAMES).join(', ')}, or three or six hexadecimal digits.`,
    ),
  style: z
    .enum(['flat', 'flat-square'])
    .default('flat')
    .describe('`flat` has round corners and a shade, `flat-square` neither.'),
});
export type BadgeQuery = z.output<typeof badgeQuery>;

export const LOOKS = ['number', 'badge', 'sparkline', 'pages', 'wall'] as const;

export const embedQuery = z.object({
  token,
  look: z
    .enum(LOOKS)
    .default('badge')
    .describe(
      'What is shown: the bare number, a badge, a line of the last 30 minutes, the top pages, or a whole screen for a wall.',
    ),
  label: label('').describe(`A text in place of the usual one, at most ${LABEL_MAX} characters.`),
});
export type EmbedQuery = z.output<typeof embedQuery>;

export const LIVE_TOKEN_TTL_MAX_S = 86_400;

/** `GET /insights/{projectId}/live/token` */
export const liveTokenQuery = z.object({
  ttl: wholeNumber(1, LIVE_TOKEN_TTL_MAX_S)
    .default(3_600)
    .describe('Seconds until the token expires; 24 hours at most.'),
  wall: flag.describe('Whether the token also shows the referrers of now and the visitors of today.'),
});

export type LiveTokenQuery = z.output<typeof liveTokenQuery>;

const instant = z.iso.datetime({ precision: 3 });

export const liveTokenAnswer = z.object({
  token: z.string().describe('The value of the parameter `token` of the paths below `/live`.'),
  expiresAt: instant.describe(
    'When the token ends, in UTC; not later than its client expires. Connections that were opened with it end within two seconds.',
  ),
});
export type LiveTokenAnswer = z.output<typeof liveTokenAnswer>;

/** Also the message of a WebSocket and an event stream. */
export const liveNumberAnswer = z.object({
  visitors: visitorsNow,
  at: instant.describe('When the number was true, in UTC.'),
  pages: z
    .array(z.object({ path: z.string(), visitors: visitorsNow }))
    .optional()
    .describe('With details=true: the ten pages with most visitors, in that order.'),
  referrers: z
    .array(z.object({ referrer: z.string().nullable(), visitors: visitorsNow }))
    .optional()
    .describe(
      'With details=true, not for the public: the ten referrers with most visitors, in that order. Null: visitors without one.',
    ),
  minutes: z
    .array(
      z.object({
        date: bucketDate,
        visitors: z.number().describe('Distinct visitors of the minute.'),
        screen_views: z.number().describe('Screen views of the minute.'),
      }),
    )
    .optional()
    .describe('With details=true: the last 30 minutes, each with the beginning of the minute as its date.'),
  today: z
    .object({
      until: bucketDate,
      visitors: z.number().describe('Distinct visitors of today so far.'),
      visitors_week_before: z
        .number()
        .optional()
        .describe(
          'Distinct visitors of the same day a week ago, up to the time of `until`. Absent in the first minute of a day.',
        ),
    })
    .optional()
    .describe("With today=true: today in the site's time zone, up to the minute `until`."),
});
export type LiveNumberAnswer = z.output<typeof liveNumberAnswer>;
