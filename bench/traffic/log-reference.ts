import { isPageView, type LogEntry, parseLine, pathOf, utf8 } from './access-log.ts';

/** Totals of a log, computed without any part of the service. */
export interface LogTotals {
  readonly lines: number;
  readonly unreadable: number;
  readonly screenViews: number;
  /** A visitor is an address with a user agent. */
  readonly visitors: number;
  readonly sessions: number;
  readonly bounces: number;
  /** Sum over all sessions. */
  readonly durationMs: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Views by path, most first, ties by path. */
  readonly pages: readonly (readonly [path: string, views: number])[];
}

const GAP_MS = 30 * 60_000;

/**
 * Totals of a log's lines: each visitor's page views, sorted by time and split where more than 30 minutes lie between.
 */
export function logTotals(lines: readonly string[]): LogTotals {
  const parsed = lines.map(parseLine);
  const views = parsed.flatMap((line) =>
    line.kind === 'entry' && isPageView(line.entry) ? [line.entry] : [],
  );
  const timesByVisitor = new Map<string, number[]>();
  const viewsByPath = new Map<string, number>();
  for (const view of views) {
    const visitor = JSON.stringify([view.address, view.userAgent]);
    timesByVisitor.set(visitor, [...(timesByVisitor.get(visitor) ?? []), view.atMs]);
    const path = pageOf(view);
    viewsByPath.set(path, (viewsByPath.get(path) ?? 0) + 1);
  }
  const sessions = [...timesByVisitor.values()].flatMap(cutIntoSessions);
  const times = views.map(({ atMs }) => atMs);
  return {
    lines: lines.length,
    unreadable: parsed.filter(({ kind }) => kind === 'unreadable').length,
    screenViews: views.length,
    visitors: timesByVisitor.size,
    sessions: sessions.length,
    bounces: sessions.filter((session) => session.length === 1).length,
    durationMs: sessions.reduce((sum, session) => sum + Math.max(...session) - Math.min(...session), 0),
    firstMs: times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    lastMs: times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
    pages: [...viewsByPath].sort(([a, views], [b, others]) => others - views || (a < b ? -1 : 1)),
  };
}

function cutIntoSessions(times: readonly number[]): number[][] {
  const sessions: number[][] = [];
  for (const atMs of times.toSorted((a, b) => a - b)) {
    const last = sessions.at(-1);
    if (last !== undefined && atMs - (last.at(-1) ?? atMs) <= GAP_MS) last.push(atMs);
    else sessions.push([atMs]);
  }
  return sessions;
}

function pageOf(view: LogEntry): string {
  return utf8(pathOf(view.target) ?? '');
}
