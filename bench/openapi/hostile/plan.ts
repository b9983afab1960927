import { SeededRandom } from '../../../ingest/testing/random.ts';
import { isEndless } from '../fuzz.ts';
import type { Law } from '../judge.ts';
import { oneOf } from '../values.ts';
import { furthestSender, type Probe, SENDERS } from './drafts.ts';
import { familiesOf } from './hostile-values.ts';
import { type HostilePlace, placesOf } from './places.ts';

/** Share of probes by the sender that gets furthest; otherwise all senders are equally likely. */
const FURTHEST_SHARE = 0.7;
const LARGE_SHARE = 0.02;

/**
 * Probes without end. First each kind of place once with each family of values, in a shuffled order, then any place
 * with any family. A large body takes the service as long as a hundred other requests, so few probes have one.
 */
export function* planOf(law: Law, seed: number): Generator<Probe> {
  const random = new SeededRandom(seed);
  const places = allPlaces(law);
  const large = probesOf(random, places.filter(isLarge), seed);
  const small = probesOf(
    random,
    places.filter((place) => !isLarge(place)),
    seed + 1,
  );
  for (;;) yield random.chance(LARGE_SHARE) ? large.next().value : small.next().value;
}

/** Every place of every operation whose answers end. */
export function allPlaces({ operations, named }: Law): readonly HostilePlace[] {
  return operations
    .filter((operation) => !isEndless(operation))
    .flatMap((operation) => placesOf(operation, named));
}

function isLarge({ kind }: HostilePlace): boolean {
  return kind === 'batch' || kind === 'whole';
}

function* probesOf(
  random: SeededRandom,
  places: readonly HostilePlace[],
  seed: number,
): Generator<Probe, never> {
  let made = 0;
  const probe = (place: HostilePlace, family: string): Probe => {
    made += 1;
    const isFurthest = random.chance(FURTHEST_SHARE);
    const sender = isFurthest ? furthestSender(random, place.operation) : oneOf(random, SENDERS);
    return { place, family, sender, seed: (seed + made * 7919) >>> 0 };
  };
  const alike = new Map<string, HostilePlace[]>();
  for (const place of places) {
    const same = alike.get(kindOf(place));
    if (same === undefined) alike.set(kindOf(place), [place]);
    else same.push(place);
  }
  const pairs = [...alike.values()].flatMap((same) =>
    familiesOf(oneOf(random, same)).map((family) => ({ same, family, order: random.next() })),
  );
  for (const { same, family } of pairs.sort((a, b) => a.order - b.order))
    yield probe(oneOf(random, same), family);
  for (;;) {
    const place = oneOf(random, places);
    yield probe(place, oneOf(random, familiesOf(place)));
  }
}

/** Places of this kind are read by the same code in all operations. */
export function kindOf({ kind, name, operation }: HostilePlace): string {
  return kind === 'body' || kind === 'batch' || kind === 'whole'
    ? `${operation.id} ${kind} ${name}`
    : `${kind} ${name}`;
}
