import { expect, test } from 'vitest';
import { type BusAct, busRights } from '../../../testing/bus-with-users.ts';

/** Rights that not every run here needs, each with its reason. */
const SELDOM: readonly (readonly [right: RegExp, reason: string])[] = [
  [/^web /, 'collector and query show each right of it; users.test.ts compares them'],
  [/ \$JS\.FC\./, 'acknowledges a flood of records; users.nats.test.ts has one'],
  [
    / \$JS\.API\.STREAM\.CREATE\./,
    'the first of the tiers makes it; in users.nats.test.ts each of them does',
  ],
  [/ \$JS\.API\.STREAM\.UPDATE\./, 'other limits or more copies; users.nats.test.ts'],
  [
    /^admin \$JS\.API\.STREAM\.INFO\.lane-0-events$/,
    'the first of all processes looks for a release that had one lane; in users.nats.test.ts this user is the first',
  ],
  [/ \$KV\.layout\.lanes$/, 'the first of all processes writes it; in users.nats.test.ts each of them does'],
  [
    /^collector \$KV\.control\.salt\.\*$/,
    'the first host of a day writes it; in users.nats.test.ts each of them does',
  ],
  [
    /KV_layout\.\$KV\.layout\.end\.\*$|^processor \$KV\.layout\.end\.\*$/,
    'a service grows; users.nats.test.ts',
  ],
  [/ \$JS\.API\.DIRECT\.GET\.KV_client-uses\./, 'two processes record the first use of a client at once'],
  [/^processor \$JS\.API\.STREAM\.PURGE\.KV_/, 'the oldest record of the bucket was removed'],
  [/^admin \$JS\.API\.DIRECT\.GET\.KV_aliases\./, 'an alias changes while it is restored'],
  [
    /^admin (?:\$KV|\$JS\.API\.STREAM\.MSG\.DELETE)[._](?:KV_)?(?:deliveries|search-console-syncs)/,
    'progress is written by a restore into an empty service; the test connection does it here',
  ],
  [
    /^admin .*\bclient-uses\.client\.\*$/,
    'what admin does not remove of a client before it ends, the tiers do',
  ],
  [
    / \$JS\.API\.STREAM\.MSG\.\w+\.KV_client-uses$/,
    'one process, the first, overwrites what is stored of a client',
  ],
  [
    /^processor \$JS\.API\.STREAM\.MSG\.GET\.lane-0-/,
    'a stream seems to lack messages, and is asked for the first of them',
  ],
];
/** The newest value of a key is read from one server directly, and from the leader of a cluster. */
const ONLY_ON = {
  1: / \$JS\.API\.DIRECT\.GET\.KV_/,
  3: / \$JS\.API\.STREAM\.MSG\.GET\.KV_(?!client-uses)/,
} as const;

/** Tests that each right was used by its user, or is seldom needed: a right without a use goes. */
export function testRights(done: ReadonlySet<BusAct>, servers: 1 | 3): void {
  test('every right is one that its user has used, or one that is seldom needed', () => {
    const textOf = ({ user, subject }: BusAct) => `${user} ${subject}`;
    const used = new Set([...done].map(textOf));
    const unused = busRights()
      .map(textOf)
      .filter((right) => !used.has(right));
    const isNeeded = (right: string) =>
      !SELDOM.some(([seldom]) => seldom.test(right)) && !ONLY_ON[servers === 1 ? 3 : 1].test(right);
    expect(unused.filter(isNeeded)).toEqual([]);
  });
}
