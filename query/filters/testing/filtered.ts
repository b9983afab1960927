import type { ModelVisit, SeenEvent } from '../../testing/visits.ts';
import type { Span } from '../../time/range.ts';
import { isSelected, type KnownEntity, type RequestedFilter } from './evaluate.ts';
import { rowOfEvent, rowOfVisit } from './visit-scene.ts';

/** All data of one site. */
export interface FilteredScene {
  readonly events: readonly SeenEvent[];
  readonly visits: readonly ModelVisit[];
  readonly profiles: readonly KnownEntity[];
  readonly groups: readonly KnownEntity[];
}

const ABOUT_SESSION =
  /^(referrer|referrer_?(name|type)|utm.*|channel|country|region|city|longitude|latitude|browser|browser_?version|os|os_?version|device|brand|model)$/i;

/** The events that pass the filters: the contract evaluated literally, event by event. */
export function heldEvents(filters: readonly RequestedFilter[], scene: FilteredScene): SeenEvent[] {
  const { aboutEvent, aboutSession } = split(filters);
  const visits = new Map(scene.visits.map((visit) => [visit.id, visit]));
  return scene.events.filter((event) => {
    const visit = visits.get(event.sessionId);
    const source = visit === undefined ? rowOfEvent(event) : rowOfVisit(visit);
    return (
      isSelected(aboutEvent, { ...scene, event: rowOfEvent(event) }) &&
      isSelected(aboutSession, { ...scene, event: source })
    );
  });
}

/** The sessions that began in a span and pass the filters, one at a time. */
export function heldVisits(
  filters: readonly RequestedFilter[],
  scene: FilteredScene,
  span: Span,
): ModelVisit[] {
  const { aboutEvent, aboutSession } = split(filters);
  const isIn = (atMs: number) => atMs >= span.fromMs && atMs < span.toMs;
  return scene.visits.filter(
    (visit) =>
      isIn(visit.startedAtMs) &&
      isSelected(aboutSession, { ...scene, event: rowOfVisit(visit) }) &&
      (aboutEvent.length === 0 ||
        scene.events.some(
          (event) =>
            event.sessionId === visit.id &&
            isIn(event.atMs) &&
            !event.name.startsWith('session_') &&
            isSelected(aboutEvent, { ...scene, event: rowOfEvent(event) }),
        )),
  );
}

function split(filters: readonly RequestedFilter[]) {
  return {
    aboutSession: filters.filter(({ name }) => ABOUT_SESSION.test(name)),
    aboutEvent: filters.filter(({ name }) => !ABOUT_SESSION.test(name)),
  };
}
