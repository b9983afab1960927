import { MINUTE_MS } from '../../infra/durations.ts';
import type { LiveCount, LivePart } from '../../processor/hot.ts';
import type { LiveAnswer } from '../api.ts';
import { type HotView, headsOf } from '../snapshot/hot-view.ts';
import { type QuestionScope, rejectAway } from '../snapshot/question.ts';
import { floorTo, labelOf } from '../time/buckets.ts';
import { memoryFigures } from './memory-figures.ts';

/** Maximum number of pages, countries and referrers in the details. */
const TOP_MAX = 10;
const MINUTES = 30;

/**
 * `GET /insights/{projectId}/live` from the owners' broadcasts; undefined where an owner must be asked. A device
 * belongs to one lane, so devices add up. A profile may be live on several lanes, so profiles are united.
 */
export function toldLive(
  hot: Pick<HotView, 'toldLive'>,
  { site }: Pick<QuestionScope, 'site'>,
): LiveAnswer | undefined {
  const parts = hot.toldLive(site.storedId);
  return parts === undefined ? undefined : { visitors: unitedVisitors(parts) };
}

/** Like `toldLive`, but asks the owners. */
export async function askLive(
  hot: Pick<HotView, 'askLive'>,
  { site }: Pick<QuestionScope, 'site'>,
): Promise<LiveAnswer> {
  const answers = await hot.askLive(site.storedId);
  rejectAway(answers, false);
  return { visitors: unitedVisitors(headsOf(answers, 'live')) };
}

/** `GET /insights/{projectId}/live` with `details=true`: by page, country and referrer, and the last 30 minutes by minute. */
export async function answerLiveDetails(
  hot: HotView,
  { site, zone, nowMs }: QuestionScope,
): Promise<LiveAnswer> {
  const toMs = floorTo(nowMs, 'minute', zone) + MINUTE_MS;
  const span = { fromMs: toMs - MINUTES * MINUTE_MS, toMs };
  const [details, minutes] = await Promise.all([
    hot.liveDetails(site.storedId),
    hot.minutes(site.storedId, span.fromMs),
  ]);
  rejectAway(details, false);
  rejectAway(minutes, false);
  const heads = headsOf(details, 'live-details');
  const buckets = Array.from({ length: MINUTES }, (_, index) => {
    const fromMs = span.fromMs + index * MINUTE_MS;
    return { fromMs, label: labelOf(fromMs, 'minute', zone) };
  });
  const hotMinutes = headsOf(minutes, 'minutes').flatMap((head) => head.minutes);
  const figures = memoryFigures({ span, previous: span, buckets }, hotMinutes).buckets;
  return {
    visitors: unitedVisitors(heads),
    pages: top(heads.map((head) => head.pages)).map(([path, visitors]) => ({ path, visitors })),
    countries: top(heads.map((head) => head.countries)).map(([country, visitors]) => ({
      country: country || null,
      visitors,
    })),
    referrers: top(heads.map((head) => head.referrers)).map(([referrer, visitors]) => ({
      referrer: referrer || null,
      visitors,
    })),
    minutes: buckets.map(({ label }, index) => ({
      date: label,
      visitors: figures[index]?.visitors ?? 0,
      screen_views: figures[index]?.screenViews ?? 0,
    })),
  };
}

/** The visitors of a site from the visitors of its lanes. */
export function unitedVisitors(parts: readonly LivePart[]): number {
  let devices = 0;
  const profiles = new Set<number>();
  for (const part of parts) {
    devices += part.visitors;
    for (const profile of part.profiles) profiles.add(profile);
  }
  return devices + profiles.size;
}

/** The lanes' counts united, highest first, ties by name. */
function top(
  lists: readonly (readonly LiveCount[])[],
): readonly (readonly [name: string, visitors: number])[] {
  const byName = new Map<string, LivePart[]>();
  for (const [name, visitors, profiles] of lists.flat()) {
    const parts = byName.get(name);
    if (parts === undefined) byName.set(name, [{ visitors, profiles }]);
    else parts.push({ visitors, profiles });
  }
  return [...byName]
    .map(([name, parts]) => [name, unitedVisitors(parts)] as const)
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .slice(0, TOP_MAX);
}
