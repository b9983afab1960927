import { HOUR_MS } from '../../../infra/durations.ts';
import type { RequestedFilter } from '../../filters/testing/evaluate.ts';
import { type FilteredScene, heldEvents } from '../../filters/testing/filtered.ts';
import type { SeenEvent } from '../../testing/visits.ts';
import type { Span } from '../../time/range.ts';
import type { FunnelAnswer } from '../funnel-api.ts';
import { inOrder } from './journeys.ts';

/** A funnel as a test requests it. */
export interface AskedFunnel {
  readonly steps: readonly (
    | string
    | { readonly name: string; readonly filters: readonly RequestedFilter[] }
  )[];
  readonly windowHours: number;
  readonly groupBy: 'session_id' | 'profile_id';
  readonly filters: readonly RequestedFilter[];
  /** Reads the breakdown's value of an event. */
  readonly readValue?: ((event: SeenEvent) => string) | undefined;
}

interface Possible {
  readonly event: SeenEvent;
  /** The steps that the event may be. */
  readonly steps: readonly boolean[];
}

/**
 * A funnel by its definition: tries every way through the events of each user, and keeps the best. Takes exponential
 * time if events repeat.
 */
export function slowFunnel(asked: AskedFunnel, scene: FilteredScene, span: Span): FunnelAnswer {
  const steps = asked.steps.map((step) => (typeof step === 'string' ? { name: step, filters: [] } : step));
  const held = steps.map(({ name, filters }) => {
    const passing = heldEvents([...asked.filters, ...filters], scene);
    return new Set(passing.filter((event) => (name === '*' ? !isSynthetic(event) : event.name === name)));
  });
  // Both lists share objects only if the scene is the same.
  const events = heldEvents(asked.filters, scene).filter(
    ({ atMs }) => atMs >= span.fromMs && atMs < span.toMs,
  );
  const people = new Map<string, Possible[]>();
  for (const event of inOrder(events)) {
    const person = asked.groupBy === 'session_id' ? event.sessionId : event.visitor;
    if (person === '') continue;
    const possible = { event, steps: held.map((ofStep) => ofStep.has(event)) };
    people.set(person, [...(people.get(person) ?? []), possible]);
  }
  const runs = [...people.values()].map((all) => ({
    all,
    run: bestOf(all, asked.windowHours, steps.length),
  }));
  const begun = runs.filter(({ run }) => run.length > 0);
  const names = steps.map(({ name }) => name);
  const answer = figuresOf(
    begun.map(({ run }) => run.length),
    names,
  );
  const withBetween = answer.steps.map((step, index) => ({ ...step, ...betweenOf(begun, index) }));
  return {
    ...answer,
    steps: withBetween,
    ...(asked.readValue ? byValue(begun, asked.readValue, names) : {}),
  };
}

function isSynthetic({ name }: SeenEvent): boolean {
  return name === 'session_start' || name === 'session_end';
}

/** The positions of the best run: the longest; among equal ones the first by positions. */
function bestOf(all: readonly Possible[], windowHours: number, steps: number): number[] {
  let best: number[] = [];
  const tryFrom = (taken: number[]) => {
    if (taken.length > best.length) best = taken;
    if (best.length === steps) return;
    const startMs = all[taken[0] ?? 0]?.event.atMs ?? 0;
    for (let next = (taken.at(-1) ?? -1) + 1; next < all.length; next += 1) {
      const possible = all[next];
      if (possible?.steps[taken.length] !== true) continue;
      if (taken.length > 0 && possible.event.atMs - startMs > windowHours * HOUR_MS) continue;
      tryFrom([...taken, next]);
    }
  };
  tryFrom([]);
  return best;
}

interface Journey {
  readonly all: readonly Possible[];
  readonly run: readonly number[];
}

function betweenOf(begun: readonly Journey[], step: number) {
  const arrived = begun.filter(({ run }) => step > 0 && run.length > step);
  if (arrived.length === 0) return {};
  const counts: Record<string, number> = {};
  const seconds: number[] = [];
  for (const { all, run } of arrived) {
    const [before = 0, position = 0] = [run[step - 1], run[step]];
    seconds.push(((all[position]?.event.atMs ?? 0) - (all[before]?.event.atMs ?? 0)) / 1000);
    for (const { event, steps } of all.slice(before + 1, position))
      if (!isSynthetic(event) && !steps.includes(true)) counts[event.name] = (counts[event.name] ?? 0) + 1;
  }
  seconds.sort((a, b) => a - b);
  const at = (share: number) => seconds[Math.floor(seconds.length * share)] ?? 0;
  const events = Object.entries(counts).map(([name, count]) => ({ name, events: count }));
  events.sort((a, b) => b.events - a.events || (a.name < b.name ? -1 : 1));
  return { between: { p50Seconds: at(0.5), p90Seconds: at(0.9), events: events.slice(0, 3) } };
}

function byValue(
  begun: readonly Journey[],
  readValue: (event: SeenEvent) => string,
  names: readonly string[],
) {
  const values = new Map<string, number[]>();
  for (const { all, run } of begun) {
    const first = all[run[0] ?? 0]?.event;
    const value = first === undefined ? '' : readValue(first);
    values.set(value, [...(values.get(value) ?? []), run.length]);
  }
  const rows = [...values].sort(
    ([a, ofA], [b, ofB]) => ofB.length - ofA.length || Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  return {
    breakdown: rows
      .slice(0, 10)
      .map(([value, lengths]) => ({ value: value === '' ? null : value, ...figuresOf(lengths, names) })),
    breakdownValues: values.size,
  };
}

function figuresOf(lengths: readonly number[], names: readonly string[]) {
  const users = names.map((_, index) => lengths.filter((length) => length > index).length);
  const percent = (of: number, all: number) => (all === 0 ? 0 : Math.round((of * 10_000) / all) / 100);
  const losses = users.map((count, index) => {
    const before = users[index - 1] ?? 0;
    return before === 0 ? 0 : (before - count) / before;
  });
  const highest = Math.max(...losses) === 0 ? -1 : losses.indexOf(Math.max(...losses));
  const steps = users.map((count, index) => {
    const before = index === 0 ? count : (users[index - 1] ?? 0);
    return {
      step: index + 1,
      eventName: names[index] ?? '',
      users: count,
      conversionRateFromStart: percent(count, users[0] ?? 0),
      conversionRateFromPrevious: percent(count, before),
      dropoffPercent: percent(before - count, before),
      isHighestDropoff: index === highest,
    };
  });
  return {
    steps,
    totalUsers: users[0] ?? 0,
    completedUsers: users.at(-1) ?? 0,
    overallConversionRate: percent(users.at(-1) ?? 0, users[0] ?? 0),
  };
}
