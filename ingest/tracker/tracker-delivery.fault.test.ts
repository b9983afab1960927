import { describe, expect, test } from 'vitest';
import { findChromium } from '../testing/chromium.ts';
import { QUEUE_MAX, TIMESTAMP_AFTER_MS } from './limits.ts';
import { namesOf, propertiesOf, useRecordedVisit, WAIT } from './testing/recorded-visit.ts';

// Delivery while the network or the server fails: in a real browser, against a server that records calls and fails on
// demand.

const chromium = await findChromium();
const visit = useRecordedVisit(chromium);
const inBrowser = describe.skipIf(chromium === undefined);

/** A promise with the function that fulfils it. */
function signal(): { readonly fired: Promise<void>; fire(): void } {
  let fire = () => {};
  const fired = new Promise<void>((resolve) => {
    fire = resolve;
  });
  return { fired, fire: () => fire() };
}

/** Advances the page's clock until this many calls have arrived. */
async function advanceUntilCalls(count: number): Promise<void> {
  const advance = async () => {
    await visit.advance(1000);
    return visit.site.calls.length;
  };
  await expect.poll(advance, WAIT).toBeGreaterThanOrEqual(count);
}

inBrowser('a call', () => {
  test.each([
    ['is answered with 503', { status: 503 }],
    ['is answered with 500', { status: 500 }],
    ['is answered with 429', { status: 429 }],
    ['loses its connection', { isCut: true }],
  ])('that %s is sent again with the same id, before later calls', async (_name, failure) => {
    await visit.open(`op('init', OFF);`);
    visit.site.answerNext(failure, failure);
    await visit.run(`op('increment', { profileId: 'p', property: 'n' }); op('track', 'second')`);
    await advanceUntilCalls(3);
    const [first, second, third, fourth] = await visit.calls(4);
    expect([first, second, third].map((call) => call?.payload)).toEqual([
      first?.payload,
      first?.payload,
      first?.payload,
    ]);
    expect(first?.payload).toMatchObject({ property: 'n', eventId: expect.stringMatching(/^\w{6,}$/) });
    expect(fourth?.payload.eventId).not.toBe(first?.payload.eventId);
    expect(fourth?.payload.name).toBe('second');
  });

  test('is not sent again before Retry-After', async () => {
    await visit.open(`op('init', OFF);`);
    visit.site.answerNext({ status: 503, headers: { 'retry-after': '2' } });
    await visit.run(`op('track', 'a')`);
    const [first, second] = await visit.calls(2);
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(2000);
  });

  test.each([[400], [401], [404], [413]])('that is rejected with %i is not sent again', async (status) => {
    await visit.open(`op('init', OFF);`);
    visit.site.answerNext({ status, body: { status, error: 'Rejected', message: 'no' } });
    await visit.run(`op('track', 'rejected'); op('track', 'next')`);
    expect(namesOf(await visit.calls(2))).toEqual(['rejected', 'next']);
  });

  test('counts as accepted when its answer is not JSON', async () => {
    await visit.open(`op('init', OFF);`);
    visit.site.answerNext({ text: '<html>' });
    await visit.run(`op('track', 'a'); op('track', 'b')`);
    expect(namesOf(await visit.calls(2))).toEqual(['a', 'b']);
  });

  test('that is too large for keepalive is still sent', async () => {
    await visit.open(`op('init', OFF);`);
    await visit.run(`op('track', 'large', { text: 'x'.repeat(70000) })`);
    expect(propertiesOf((await visit.calls(1))[0]).text).toHaveLength(70_000);
  });
});

inBrowser('calls', () => {
  test('are sent one after the other', async () => {
    await visit.open(`op('init', OFF);`);
    const answered = signal();
    visit.site.answerNext({ after: answered.fired });
    await visit.run(`op('track', 'a'); op('track', 'b'); op('track', 'c')`);
    await expect.poll(() => visit.site.calls.length, WAIT).toBe(1);
    // Any call sent meanwhile arrives before this request ends.
    await visit.run(`await fetch(API + '/config/tracking')`);
    expect(namesOf(visit.site.calls)).toEqual(['a']);
    answered.fire();
    const calls = await visit.calls(3);
    expect(namesOf(calls)).toEqual(['a', 'b', 'c']);
    for (const call of calls) expect(propertiesOf(call)).not.toHaveProperty('__timestamp');
  });

  test('after a slow one get later times', async () => {
    await visit.open(`op('init', OFF);`);
    const answered = signal();
    visit.site.answerNext({ after: answered.fired });
    await visit.run(`op('track', 'slow'); op('track', 'b')`);
    await visit.advance(TIMESTAMP_AFTER_MS + 100);
    const answeredAtMs = await visit.run<number>('return Date.now()');
    answered.fire();
    const [slow, behind] = await visit.calls(2);
    // The slow event gets the time of its arrival, which is at most the time of its answer.
    expect(propertiesOf(slow)).not.toHaveProperty('__timestamp');
    expect(propertiesOf(behind).__timestamp).toBeGreaterThanOrEqual(answeredAtMs);
  });

  test('made offline arrive once each, in order and with their own times, when the network is back', async () => {
    await visit.open(`op('init', OFF); op('track', 'before');`);
    await visit.calls(1);
    await visit.visitor.context.setOffline(true);
    const times: number[] = [];
    for (const name of ['a', 'b', 'c']) {
      times.push(await visit.run<number>(`op('track', '${name}'); return Date.now()`));
    }
    await visit.advance(TIMESTAMP_AFTER_MS + 100);
    expect(visit.site.calls).toEqual([]);
    await visit.visitor.context.setOffline(false);
    const calls = await visit.calls(3);
    expect(namesOf(calls)).toEqual(['a', 'b', 'c']);
    for (const [index, call] of calls.entries()) {
      const differenceMs = Number(propertiesOf(call).__timestamp) - (times[index] ?? 0);
      expect(Math.abs(differenceMs)).toBeLessThan(100);
    }
  });

  test('beyond the queue’s limit drop the oldest', async () => {
    await visit.open(`op('init', Object.assign({ disabled: true }, OFF));`);
    await visit.run(`for (let i = 0; i < ${QUEUE_MAX + 20}; i++) op('track', String(i)); op('ready')`);
    const names = namesOf(await visit.calls(QUEUE_MAX));
    expect(names).toEqual(Array.from({ length: QUEUE_MAX }, (_, index) => String(index + 20)));
  });
});

inBrowser('leaving a page', () => {
  test('sends all calls that wait behind an unanswered one', async () => {
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

  test('records its view even before the settings are known', async () => {
    visit.site.show('/next', '<title>Next</title>');
    const settings = signal();
    visit.site.settings.after = settings.fired;
    await visit.open(`op('init', { clientId: OFF.clientId, apiUrl: API });`, {
      script: '<script src="/script.js"></script>',
    });
    await visit.run(`location.href = '/next'`);
    await expect.poll(() => visit.site.calls, WAIT).toMatchObject([{ payload: { name: 'screen_view' } }]);
    settings.fire();
  });

  test('for another tab sends all waiting calls, and delivery continues on return', async () => {
    await visit.open(`op('init', OFF);`);
    const answered = signal();
    visit.site.answerNext({ after: answered.fired }, { status: 503 });
    await visit.run(`op('track', 'a'); op('track', 'b')`);
    await expect.poll(() => visit.site.calls.length, WAIT).toBe(1);
    // Browsers' own event bubbles from the document, too.
    await visit.run(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);
    await expect.poll(() => visit.site.calls.length, WAIT).toBe(2);
    answered.fire();
    await advanceUntilCalls(3);
    expect(namesOf(await visit.calls(3))).toEqual(['a', 'b', 'b']);
  });
});
