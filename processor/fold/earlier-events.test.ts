import { expect, test } from 'vitest';
import { MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';
import { messageOfVersion2 } from '../../ingest/testing/earlier-messages.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf } from '../testing/run.ts';

const PLACE = { country: 'DE', region: 'Bayern', city: 'München', longitude: 11.5, latitude: 48.25 };
const SOFTWARE = { browser: 'Firefox', browserVersion: '127.0', os: 'Linux', device: 'desktop', model: '' };
const UNKNOWN = { language: '', timezone: '', screen: '' };
const LOCALE = { language: 'de-DE', timezone: 'Europe/Berlin', screen: '1920x1080' };

/** A message of this version with the events of one of version 2, as orders bring them that waited in their entity. */
function waitedMessage(publisherSequence: number): Buffer {
  const message = messageOf([plainEvent()], publisherSequence);
  const earlier = messageOfVersion2();
  const bytes = Buffer.concat([
    message.subarray(0, MESSAGE_HEADER_BYTES),
    earlier.subarray(MESSAGE_HEADER_BYTES),
  ]);
  bytes.writeUInt32LE(2, MESSAGE_HEADER_BYTES - 4);
  return bytes;
}

test.each<[string, Buffer]>([
  ['in a message of version 2', messageOfVersion2()],
  ['in a message of this version', waitedMessage(1)],
])('events of version 2 %s are folded with an unknown locale', (_, message) => {
  const run = new FoldRun();
  run.take(message);
  run.flush();
  expect(run.events.map(({ values }) => values)).toMatchObject([
    { name: 'session_start', ...PLACE, ...SOFTWARE, ...UNKNOWN, groups: [], sdkName: '' },
    {
      name: 'screen_view',
      profileId: 'päul',
      ...PLACE,
      ...SOFTWARE,
      ...UNKNOWN,
      groups: ['g'],
      properties: [['k', 'v']],
      sdkName: 'web',
      sdkVersion: '1',
    },
    { name: 'revenue', orderId: 'o-1', revenue: 99n, ...PLACE, ...SOFTWARE, ...UNKNOWN, groups: [] },
  ]);
  const session = run.sessions.find(({ values }) => values.projectId === 'demo');
  expect(session?.values).toMatchObject({ sign: 1, ...PLACE, ...SOFTWARE, ...UNKNOWN, ended: 0 });
});

test('a session of version 2 goes on with events of this version, and takes the locale of a new entry', () => {
  const run = new FoldRun();
  run.take(messageOfVersion2());
  run.flush();
  run.crash();
  const environment = { ...plainEvent().environment, ...LOCALE };
  const later = plainEvent({ occurredAtMs: START_MS + 5_000, receivedAtMs: START_MS + 5_000, environment });
  run.take(messageOf([later], 2));
  run.flush();
  const states = () =>
    run.sessions.filter(({ values }) => values.projectId === 'demo').map(({ values }) => values);
  expect(states().at(-1)).toMatchObject({ sign: 1, screenViews: 2, ...SOFTWARE, ...UNKNOWN });
  const earlier = { ...later, occurredAtMs: START_MS - 5_000, receivedAtMs: START_MS + 6_000 };
  run.take(messageOf([earlier], 3));
  run.flush();
  expect(states().slice(-2)).toMatchObject([
    { sign: -1, ...UNKNOWN },
    { sign: 1, screenViews: 3, browser: '', ...LOCALE },
  ]);
  expect(run.events.at(-1)?.values).toMatchObject({ name: 'screen_view', ...LOCALE });
});
