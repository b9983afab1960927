import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { must } from '../../../assert.ts';
import { type BusAct, busRights, isOf } from '../../../testing/bus-with-users.ts';
import { S3_KEY } from '../../../testing/s3-server.ts';
import { TestSocket } from '../../../testing/test-socket.ts';
import { RunningTiers, type Secret, type TierName } from './running-tiers.ts';

const DEAD_LETTERS = 'dist/processor/dead-letters/dead-letters.js';
const FIRST_START = 'dist/infra/accounts/first-start.js';
const credential = z.object({ id: z.string(), secret: z.string() });
const madeClient = z.object({ data: z.object({ client: credential }) });
const madeSite = z.object({ data: z.object({ id: z.string(), client: credential }) });
const record = z.object({ data: z.object({ id: z.string(), status: z.string().optional() }) });
const counts = z.array(z.object({ count: z.number() }));
const SLOW = { timeout: 90_000 };

/**
 * Tests of every tier and every program, each with a user of its own, on a bus of one or three servers with the files of
 * `infra/operations/users`. No user may be refused anything.
 * @returns the rights of which use was made, complete after the tests
 */
export function testTiersInUse(servers: 1 | 3): ReadonlySet<BusAct> {
  const done = new Set<BusAct>();
  describe(`on ${servers} ${servers === 1 ? 'server' : 'servers'}`, () => {
    let tiers: RunningTiers;
    let root: Secret;
    let site: Secret & { readonly client: Secret };
    /** Messages that waited in the streams of the lane. */
    const waiting = new Map<'events' | 'records', Uint8Array>();

    beforeAll(async () => {
      tiers = await RunningTiers.start(servers);
    });
    afterEach(() => {
      expect(tiers.bus.refused()).toEqual([]);
    });
    afterAll(async () => {
      if (tiers === undefined) return;
      const acts = tiers.bus.acts().filter(({ program }) => program !== 'test');
      for (const right of busRights()) if (acts.some((act) => isOf(act, right))) done.add(right);
      await tiers.stop();
    });

    const manage = (path: string, method: string, body?: object) =>
      tiers.ask('query', root, `/manage/${path}`, { method, body });
    const send = (tier: TierName, type: string, payload: object, agent?: string) =>
      tiers.ask(tier, site.client, '/track', { body: { type, payload }, ...(agent && { agent }) });
    const visit = (tier: TierName, agent?: string) =>
      send(tier, 'track', { name: 'screen_view', properties: { __path: 'https://shop.example/' } }, agent);
    const views = async (tier: TierName) => {
      const { body } = await tiers.ask(tier, root, `/insights/${site.id}/events/names`);
      return counts.safeParse(body).data?.[0]?.count;
    };

    test('admin makes a team, the query tier a site, and collectors know both', async () => {
      root = madeClient.parse(JSON.parse(await tiers.admin('team', 'create', 'Team', '--json'))).data.client;
      const make = (tier: TierName) => tiers.ask(tier, root, '/manage/projects', { body: { name: 'Shop' } });
      for (const tier of ['web', 'query'] as const)
        await expect.poll(async () => (await make(tier)).status).toBe(200);
      const { id, client } = madeSite.parse((await make('query')).body).data;
      site = { id, secret: '', client };
      const settings = { feed: true, eventsPerSecondMax: 100, publicWidget: true };
      expect((await manage(`projects/${id}`, 'PATCH', settings)).status).toBe(200);
      for (const tier of ['collector', 'web'] as const)
        await expect.poll(async () => (await tiers.ask(tier, client, '/track/device-id')).status).toBe(200);
    });

    test('events of two collectors are one number in every query process, pushed and asked', async () => {
      expect((await visit('collector')).status).toBe(200);
      expect((await visit('web', 'OPR/112.0')).status).toBe(200);
      for (const tier of ['query', 'web'] as const) {
        const socket = await TestSocket.open(`${tiers.urlOf(tier)}/live/visitors/${site.id}`);
        await expect.poll(() => socket.last).toBe('2');
        socket.destroy();
        const live = () => tiers.ask(tier, root, `/insights/${site.id}/live`);
        await expect.poll(async () => (await live()).body).toEqual({ visitors: 2 });
        await expect.poll(() => views(tier)).toBe(2);
      }
    });

    test('people, their aliases and orders are recorded, and a person is erased', async () => {
      for (const tier of ['collector', 'web'] as const) {
        expect((await send(tier, 'identify', { profileId: 'ann', firstName: 'Ann' })).status).toBe(200);
        // The second target replaces the first one, whose bytes are overwritten.
        for (const profileId of ['bob', 'ann'])
          expect((await send(tier, 'alias', { profileId, alias: `annie-${tier}` })).status).toBe(200);
        const properties = { __amount: 12, __currency: 'EUR', __orderId: `order-${tier}` };
        expect((await send(tier, 'track', { name: 'revenue', properties })).status).toBe(200);
      }
      const people = `/insights/${site.id}/profiles`;
      for (const tier of ['query', 'web'] as const)
        await expect.poll(async () => (await tiers.ask(tier, root, people)).text).toContain('"ann"');
      expect(await tiers.admin('alias', 'list', '--site', site.id)).toContain('annie-web');
      await tiers.admin('alias', 'undo', 'annie-web', '--site', site.id);
      expect((await manage(`projects/${site.id}/aliases/annie-collector`, 'DELETE')).status).toBe(200);
      expect((await send('collector', 'alias', { profileId: 'ann', alias: 'anna' })).status).toBe(200);
      const { id } = record.parse((await manage(`projects/${site.id}/profiles/ann`, 'DELETE')).body).data;
      const receipt = () => manage(`projects/${site.id}/erasures/${id}`, 'GET');
      await expect.poll(async () => record.parse((await receipt()).body).data.status, SLOW).toBe('done');
    });

    test('events are delivered to a bucket, and Search Console is asked', async () => {
      const { endpoint } = tiers.bucket;
      const target = { type: 's3', bucket: 'events', endpoint, pathStyle: true, ...S3_KEY };
      const made = await manage('integrations', 'POST', {
        projectId: site.id,
        format: 'ndjson_gzip',
        ...target,
      });
      expect(made.status).toBe(200);
      const auth = { type: 'oauth', clientId: 'a', clientSecret: 'b', refreshToken: 'c' };
      const connection = { siteUrl: 'sc-domain:shop.example', auth };
      expect((await manage(`projects/${site.id}/gsc`, 'PUT', connection)).status).toBe(200);
      for (const key of ['deliveries.integration.*', 'search-console-syncs.gsc.*'])
        await expect.poll(() => tiers.hasPublished('processor', `$KV.${key}`), SLOW).toBe(true);
    });

    test('when the owner is killed the other processor takes over, and no event is lost', async () => {
      const before = must(await views('query'), 'the number of screen views');
      const owner = must(await tiers.owner(), 'a processor that owns the lane');
      await tiers.end(owner, 'SIGKILL');
      expect((await visit('collector')).status).toBe(200);
      expect((await send('collector', 'identify', { profileId: 'cleo' })).status).toBe(200);
      const bus = await tiers.connect('processor');
      for (const kind of ['events', 'records'] as const)
        for await (const { bytes } of bus.messages(`lane-0-${kind}`)) waiting.set(kind, bytes);
      await bus.close();
      await expect.poll(() => views('query'), SLOW).toBe(before + 1);
      expect(await tiers.owner()).toBe(owner === 'processor-1' ? 'processor-2' : 'processor-1');
      await tiers.startTier(owner);
    });

    test('what cannot be read becomes a dead letter, which the program for them lists and replays', async () => {
      const collector = await tiers.connect('collector');
      await collector.publish('lanes.0.events', Buffer.from(`garbage of ${JSON.stringify(site.id)}`), 5_000);
      await collector.close();
      await expect.poll(() => tiers.run(DEAD_LETTERS, 'list')).toContain('1 dead letters');
      // Letters whose messages this release can read, as an earlier one would have left them.
      const processor = await tiers.connect('processor');
      for (const [stream, bytes] of waiting) {
        const head = JSON.stringify({ version: 1, stream, partition: 0, sequence: 1, reason: 'test' });
        const length = Buffer.alloc(4);
        length.writeUInt32LE(head.length);
        await processor.publish('dead-letters.0', Buffer.concat([length, Buffer.from(head), bytes]), 5_000);
      }
      await processor.close();
      expect(await tiers.run(DEAD_LETTERS, 'replay')).toContain('2 replayed, 1 left');
    });

    test('an operator signs in, changes clients, backs up and restores', async () => {
      const link = await tiers.admin('sign-in', '--url', 'https://stats.example');
      const [, token = ''] = /[#=/]([\w-]{20,})\s*$/m.exec(link) ?? [];
      expect((await tiers.ask('query', root, '/sign-in', { body: { link: token } })).status).toBe(200);
      const args = ['--team', 'team', '--type', 'read', '--site', site.id, '--json'];
      const client = credential.parse(JSON.parse(await tiers.admin('client', 'create', ...args)).data);
      const live = (tier: TierName) => tiers.ask(tier, client, `/insights/${site.id}/live`);
      for (const tier of ['query', 'web'] as const)
        await expect.poll(async () => (await live(tier)).status).toBe(200);
      const use = `$KV.client-uses.client.${client.id}`;
      await expect
        .poll(() => ['query', 'web'].some((user) => tiers.hasPublished(user, use)), SLOW)
        .toBe(true);
      const file = join(tiers.folder, 'backup');
      await tiers.admin('backup', file);
      await tiers.admin('client', 'rotate', client.id);
      await tiers.admin('client', 'delete', client.id);
      await tiers.admin('restore', file, '--replace');
      expect(await tiers.run(FIRST_START)).toContain('"created":false');
      const folder = join(tiers.folder, 'everything');
      expect(await tiers.admin('backup', folder, '--events')).toContain(`written to ${folder}`);
      await expect(tiers.admin('restore', folder)).rejects.toThrow('this service is not empty');
      // Further records that a restore into an empty service writes.
      const admin = await tiers.connect('admin');
      for (const name of ['deliveries', 'search-console-syncs']) {
        const bucket = await admin.keyed(name);
        for (const key of await bucket.keys()) {
          const { bytes, revision } = must(await bucket.get(key), key);
          await bucket.put(key, must(bytes, key), revision).catch(() => undefined); // The processor may be first.
        }
      }
      await admin.close();
    });

    test('a deleted site is purged', async () => {
      expect((await manage(`projects/${site.id}?now=true`, 'DELETE')).status).toBe(200);
      const purged = async () => (await manage(`projects/${site.id}`, 'GET')).text.includes('"purged"');
      await expect.poll(purged, { timeout: 120_000 }).toBe(true);
    });

    test('every tier ends with 0 when it is asked to', async () => {
      for (const name of ['collector', 'query', 'web', 'processor-1', 'processor-2'] as const)
        expect([name, await tiers.end(name, 'SIGTERM')]).toEqual([name, 0]);
    });
  });
  return done;
}
