import { setTimeout as wait } from 'node:timers/promises';
import { assert } from '../../infra/assert.ts';
import { type Habits, PLAIN_HABITS } from '../traffic/ledger.ts';
import type { ChaosFault } from './fault.ts';
import { type Ground, untilTaken } from './ground.ts';

const EVENTS = 200;

/** Senders that behave badly. Which host gets a request is another one each time, for these and for all others. */
export const CLIENT_FAULTS: readonly ChaosFault[] = [
  {
    name: 'every event is sent three times at once, and those before it again in another order',
    happen: (ground) => behave(ground, { repeats: true, late: false }),
  },
  {
    name: 'events arrive hours late',
    happen: (ground) => behave(ground, { repeats: false, late: true }),
  },
  {
    name: 'events arrive hours late, and everything is sent three times at once',
    isInTest: true,
    happen: (ground) => behave(ground, { repeats: true, late: true }),
  },
];

async function behave({ traffic, random }: Ground, habits: Habits): Promise<void> {
  const { ledger } = traffic;
  const before = { copies: ledger.copies, late: ledger.late };
  traffic.habits = habits;
  try {
    await wait(random.integer(1_000, 5_000));
    await untilTaken(traffic, EVENTS);
  } finally {
    traffic.habits = PLAIN_HABITS;
  }
  if (habits.repeats) assert(ledger.copies > before.copies + EVENTS, 'copies were answered');
  if (habits.late) assert(ledger.late > before.late + EVENTS / 4, 'late events were sent');
}
