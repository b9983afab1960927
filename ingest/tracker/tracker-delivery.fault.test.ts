import { describe, expect, test } from 'vitest';
import { findChromium } from '../testing/chromium.ts';
import { QUEUE_MAX, TIMESTAMP_AFTER_MS } from './limits.ts';
import { namesOf, propertiesOf, useRecordedVisit, WAIT } from './testing/recorded-visit.ts';

// How the script delivers when the network or the server does not: in a real browser, against a server that records
// what comes in and fails when it is told to.

const chromium = await findChromium();
const visit = useRecordedVisit(chromium);
const inBrowser = describe.skipIf(chromium === undefined);

/** A promise, and what fulfils it. */
function signal(): { readonly given: Promise<void>; give(): void } {
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give: () => give() };
}

/** Lets the clock of the page run until so many calls came in. */
async function passUntilCalls(count: number): Promise<void> {
  const pass = async () => {
    await visit.pass(1000);
    return visit.site.calls.length;
  };
  await expect.poll(pass, WAIT).toBeGreaterThanOrEqual(count);
}

inBrowser('a call', () => {
  test.each([
    ['is answered with 503', { status: 503 }],
    ['is answered with 500', { status: 500 }],
    ['is answered with 429', { status: 429 }],
    ['finds its connection cut', { isCut: true }],
  ])('that %s is sent again under the same id, before those behind it', async (_name, failure) => {
    await visit.open(`op('init', OFF);`);
    visit.site.answerNext(failure, failure);
    await visit.run(`op('increment', { profileId: 'p', property: 'n' }); op('track', 'second')`);
    await passUntilCalls(3);
    const [first, second, third, fourth] = await visit.calls(4);
    expect([first, second, third].map((call) => call?.payload)).toEqual([
      first?.payload,
      first?.payload,
      first?.payload,
    ]);
    expect(first?.payload).toMatchObject({ property: 'n', eventId: first?.headers['idempotency-key'] });
    expect(third?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
    expect(fourth?.payload.name).toBe('second');
  });

  test('is not sent again before the server wants it', async () => {
    await visit.open(`op('init', OFF);`);
    visit.site.answerNext({ status: 503, headers: { 'retry-after': '2' } });
    await visit.run(`op('track', 'a')`);
    const [first, second] = await visit.calls(2);
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(2000);
  });

  test.each([[400], [401], [404], [413]])('that is refused with %i is not sent again', async (status) => {
    await visit.open(`op('init', OFF);`);
    visit.site.answerNext({ status, body: { status, error: 'Refused', message: 'no' } });
    await visit.run(`op('track', 'refused'); op('track', 'next')`);
    expect(namesOf(await visit.calls(2))).toEqual(['refused', 'next']);
  });

  test('whose answer is no JSON was taken all the same', async () => {
    await visit.open(`op('init', OFF);`);
    visit.site.answerNext({ text: '<html>' });
    await visit.run(`op('track', 'a'); op('track', 'b')`);
    expect(namesOf(await visit.calls(2))).toEqual(['a', 'b']);
  });

  test('that is too large to outlive its page is sent, too', async () => {
    await visit.open(`op('init', OFF);`);
    await visit.run(`op('track', 'large', { text: 'x'.repeat(70000) })`);
    expect(propertiesOf((await visit.calls(1))[0]).text).toHaveLength(70_000);
  });
});

inBrowser('calls', () => {
  test('go out one after the other', async () => {
    await visit.open(`op('init', OFF);`);
    const answered = signal();
    visit.site.answerNext({ after: answered.given });
    await visit.run(`op('track', 'a'); op('track', 'b'); op('track', 'c')`);
    await expect.poll(() => visit.site.calls.length, WAIT).toBe(1);
    // Whatever was sent meanwhile comes in before this.
    await visit.run(`await fetch(API + '/config/tracking')`);
    expect(namesOf(visit.site.calls)).toEqual(['a']);
    answered.give();
    const calls = await visit.calls(3);
    expect(namesOf(calls)).toEqual(['a', 'b', 'c']);
    for (const call of calls) expect(propertiesOf(call)).not.toHaveProperty('__timestamp');
  });

  test('behind a slow one keep the order of their times', async () => {
    await visit.open(`op('init', OFF);`);
    const answered = signal();
    visit.site.answerNext({ after: answered.given });
    await visit.run(`op('track', 'slow'); op('track', 'b')`);
    await visit.pass(TIMESTAMP_AFTER_MS + 100);
    const answeredAtMs = await visit.run<number>('return Date.now()');
    answered.give();
    const [slow, behind] = await visit.calls(2);
    // The slow one gets the time of its arrival, which is at most the time of its answer.
    expect(propertiesOf(slow)).not.toHaveProperty('__timestamp');
    expect(propertiesOf(behind).__timestamp).toBeGreaterThanOrEqual(answeredAtMs);
  });

  test('of an offline spell arrive once each, in order and with their own times, as soon as it is over', async () => {
    await visit.open(`op('init', OFF); op('track', 'before');`);
    await visit.calls(1);
    await visit.visitor.context.setOffline(true);
    const times: number[] = [];
    for (const name of ['a', 'b', 'c']) {
      times.push(await visit.run<number>(`op('track', '${name}'); return Date.now()`));
    }
    await visit.pass(TIMESTAMP_AFTER_MS + 100);
    expect(visit.site.calls).toEqual([]);
    await visit.visitor.context.setOffline(false);
    const calls = await visit.calls(3);
    expect(namesOf(calls)).toEqual(['a', 'b', 'c']);
    for (const [index, call] of calls.entries()) {
      const differenceMs = Number(propertiesOf(call).__timestamp) - (times[index] ?? 0);
      expect(Math.abs(differenceMs)).toBeLessThan(100);
    }
  });

  test('beyond what is kept give up the oldest', async () => {
    await visit.open(`op('init', Object.assign({ disabled: true }, OFF));`);
    await visit.run(`for (let i = 0; i < ${QUEUE_MAX + 20}; i++) op('track', String(i)); op('ready')`);
    const names = namesOf(await visit.calls(QUEUE_MAX));
    expect(names).toEqual(Array.from({ length: QUEUE_MAX }, (_, index) => String(index + 20)));
  });
});

inBrowser('a page that is left', () => {
  test('sends all that waits behind an unanswered call', async () => {
    visit.site.show('/next', '<title>Next</title>');
    await visit.open(`op('init', OFF);`);
    visit.site.answerNext({ after: new Promise(() => {}) });
    await visit.run(`op('track', 'unanswered')`);
    await expect.poll(() => visit.site.calls.length, WAIT).toBe(1);
    await visit.run(`for (const name of ['a', 'b', 'c']) op('track', name); location.href = '/next'`);
    await expect
      .poll(() => namesOf(visit.site.calls).toSorted(), WAIT)
      .toEqual(['a', 'b', 'c', 'unanswered']);
  });

  test('counts as seen, also when it is left before it is known what may be collected', async () => {
    visit.site.show('/next', '<title>Next</title>');
    const settled = signal();
    visit.site.settings.after = settled.given;
    await visit.open(`op('init', { clientId: OFF.clientId, apiUrl: API });`, {
      script: '<script src="/script.js"></script>',
    });
    await visit.run(`location.href = '/next'`);
    await expect.poll(() => visit.site.calls, WAIT).toMatchObject([{ payload: { name: 'screen_view' } }]);
    settled.give();
  });

  test('and only goes out of sight goes on as before when it is back', async () => {
    await visit.open(`op('init', OFF);`);
    const answered = signal();
    visit.site.answerNext({ after: answered.given }, { status: 503 });
    await visit.run(`op('track', 'a'); op('track', 'b')`);
    await expect.poll(() => visit.site.calls.length, WAIT).toBe(1);
    // The event of the browser bubbles from the document, too.
    await visit.run(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);
    await expect.poll(() => visit.site.calls.length, WAIT).toBe(2);
    answered.give();
    await passUntilCalls(3);
    expect(namesOf(await visit.calls(3))).toEqual(['a', 'b', 'b']);
  });
});
