import type { LiveNumberAnswer } from '../../live/live-api.ts';
import { follow } from '../../widget/connection.ts';
import { drawMinutes } from './minute-chart.ts';
import { part } from './part.ts';
import { type Failure, poll } from './poll.ts';
import { RankedList } from './ranked-list.ts';
import { keepAwake, keepMoving } from './screen.ts';
import { showToday } from './today.ts';

// The wall page: for a screen that runs for months without a reload. The service writes its markup.

const DETAILS_EVERY_MS = 5_000;
const TODAY_EVERY_MS = 30_000;
const TICK_MS = 1_000;
/** Without an answer for this long, the shown data is marked as old. */
const LATE_AFTER_MS = 20_000;
/** A tick that comes so late was slept through by the machine, whose connections may lead nowhere. */
const SLEPT_MS = 30_000;
const SPOKEN_EVERY_MS = 60_000;
/** A page this old loads itself anew when the service has another version. */
const RELOAD_AFTER_MS = 3_600_000;
const ROWS_MAX = 10;
const ROWS_BESIDE = 5;

const { site = '', token = '', whole } = part('wall').dataset;
const isWhole = whole === 'true';
const url = new URL(`../${encodeURIComponent(site)}`, location.href).href;
const query = token === '' ? '' : `?token=${encodeURIComponent(token)}`;
const { format } = new Intl.NumberFormat(navigator.language);
const clockTime = new Intl.DateTimeFormat(navigator.language, { hour: '2-digit', minute: '2-digit' });
const rowsMax = isWhole ? ROWS_BESIDE : ROWS_MAX;
const pages = new RankedList('pages', rowsMax, format);
const sources = isWhole ? new RankedList('sources', rowsMax, format) : undefined;

let heardAtMs = Date.now();
let failure: Failure | undefined;
let tickedAtMs = Date.now();
let spokenAtMs = 0;
let version: string | undefined;
let leave: (() => void) | undefined;

function enter(): void {
  leave?.();
  const unfollow = follow(url, query, showNumber);
  const sign = query === '' ? '?' : '&';
  const stops = [
    poll(`${url}.json${query}${sign}details=true`, DETAILS_EVERY_MS, showDetails, fail),
    // If these figures cannot be reached, the last ones stay: they show their time.
    isWhole ? poll(`${url}.json${query}${sign}today=true`, TODAY_EVERY_MS, showTodayOf, () => {}) : () => {},
  ];
  leave = () => {
    leave = undefined;
    unfollow();
    for (const stop of stops) stop();
  };
}

function showNumber(visitors: number): void {
  const text = format(visitors);
  const number = part('number');
  number.textContent = text;
  number.style.setProperty('--digits', String(text.length));
  if (Date.now() - spokenAtMs < SPOKEN_EVERY_MS) return;
  spokenAtMs = Date.now();
  part('spoken').textContent = `${text} ${part('label').textContent}`;
}

function showDetails(answer: LiveNumberAnswer, headers: Headers): void {
  const wasLate = isLate();
  heardAtMs = Date.now();
  failure = undefined;
  drawMinutes(answer.minutes ?? [], format);
  pages.show((answer.pages ?? []).map(({ path, visitors }) => ({ name: path, label: path, visitors })));
  sources?.show(
    (answer.referrers ?? []).map(({ referrer, visitors }) => ({
      name: referrer ?? '',
      label: referrer ?? 'Direct / none',
      visitors,
    })),
  );
  showState();
  reloadIfOther(headers.get('service-version'));
  // The connection may be in a long pause before its next attempt, or open and lead nowhere.
  if (wasLate) enter();
}

function showTodayOf({ today }: LiveNumberAnswer): void {
  if (today !== undefined) showToday(today, format);
}

function fail(reason: Failure): void {
  failure = reason;
  // Figures that are no longer permitted are removed from the wall.
  if (reason.isForbidden) forget();
  showState();
}

function forget(): void {
  part('number').textContent = '–';
  pages.clear();
  sources?.clear();
  drawMinutes([], format);
  for (const id of ['today', 'change']) if (document.getElementById(id) !== null) part(id).textContent = '–';
}

function isLate(): boolean {
  return failure?.isForbidden === true || Date.now() - heardAtMs > LATE_AFTER_MS;
}

function showState(): void {
  const late = isLate();
  part('wall').classList.toggle('late', late);
  const words = failure?.message ?? 'No answer from the service.';
  const since = failure?.isForbidden ? '' : ` Figures of ${clockTime.format(heardAtMs)}.`;
  const text = late ? `${words}${since}` : '';
  // Said again only when it is something else.
  if (part('state').textContent !== text) part('state').textContent = text;
}

function reloadIfOther(present: string | null): void {
  version ??= present ?? undefined;
  if (present !== null && present !== version && performance.now() > RELOAD_AFTER_MS) location.reload();
}

function tick(): void {
  const nowMs = Date.now();
  part('clock').textContent = clockTime.format(nowMs);
  if (leave !== undefined && nowMs - tickedAtMs > SLEPT_MS) enter();
  tickedAtMs = nowMs;
  showState();
}

function onVisibility(): void {
  if (document.hidden) leave?.();
  else enter();
}

document.addEventListener('visibilitychange', onVisibility);
addEventListener('online', () => {
  if (!document.hidden) enter();
});
tick();
setInterval(tick, TICK_MS);
keepAwake();
keepMoving(part('wall'));
onVisibility();
