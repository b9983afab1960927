import { afterAll, beforeAll, expect, test } from 'vitest';
import { CRASH_POINTS } from '../../infra/process/crashpoint.ts';
import { S3_KEY, S3_REGION, type S3Server, startS3 } from '../../infra/testing/s3-server.ts';
import { readBucket } from '../../processor/delivery/testing/bucket-reader.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';

const SITE = 'demo';
const BUCKET = 'events-of-demo';
const WAIT_MAX_MS = 60_000;
const EVENTS = 60;
const POINTS = CRASH_POINTS.filter((point) => point.startsWith('delivery:'));

let cluster: Cluster;
let client: Client;
let s3: S3Server;

beforeAll(async () => {
  s3 = await startS3({ buckets: [BUCKET] });
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {
      FLUSH_INTERVAL_MS: '150',
      LEASE_MS: '2000',
      LOG_LEVEL: 'warn',
      DELIVERY_INTERVAL_MS: '200',
      MANAGE_LIMIT_PER_10_S: '0',
      ENDPOINTS_ALLOWED: '127.0.0.1',
      SECRETS_KEY: '7'.repeat(64),
    },
  });
  client = new Client(16);
  await cluster.ready('web');
});

afterAll(async () => {
  client?.close();
  await cluster?.stop();
  await s3?.stop();
});

/** A new integration of the site, once its delivery has begun. */
async function integrate(): Promise<string> {
  const body = {
    projectId: SITE,
    type: 's3',
    bucket: BUCKET,
    prefix: 'raw',
    region: S3_REGION,
    endpoint: s3.endpoint,
    accessKeyId: S3_KEY.accessKeyId,
    secretAccessKey: S3_KEY.secretAccessKey,
  };
  const { root } = cluster.credentials.clients;
  const url = `${cluster.url('web')}/manage/integrations`;
  const made = await client.post(url, root, {}, JSON.stringify(body));
  expect(made).toMatchObject({ status: 200 });
  const { id } = (made.body as { data: { id: string } }).data;
  const isBegun = async () => {
    const { body: shown } = await client.get(`${url}/${id}`, root);
    return (
      (shown as { data: { status: { deliveredUntil: string | null } } }).data.status.deliveredUntil !== null
    );
  };
  await waitFor('the delivery to begin', isBegun, WAIT_MAX_MS);
  return id;
}

async function send(from: number): Promise<void> {
  const { write } = cluster.credentials.clients;
  for (let number = from; number < from + EVENTS; number += 1) {
    const payload = {
      name: 'screen_view',
      eventId: `e${number}`,
      properties: { __path: `https://example.com/${number}` },
    };
    const answer = await client.post(
      `${cluster.url('web')}/track`,
      write,
      { 'idempotency-key': `e${number}` },
      JSON.stringify({ type: 'track', payload }),
    );
    expect(answer.status).toBe(200);
  }
}

async function storedIds(): Promise<string[]> {
  const store = cluster.openStore();
  try {
    const answer = await store.query({
      query: `SELECT lower(hex(id)) AS id FROM events WHERE projectId = {site:String} ORDER BY id`,
      query_params: { site: SITE },
      format: 'JSONEachRow',
    });
    return (await answer.json<{ id: string }>()).map(({ id }) => id);
  } finally {
    await store.close();
  }
}

test('every event of the service is in one file of the bucket, though its processor dies at each point of the way', async () => {
  const id = await integrate();
  expect(await storedIds()).toEqual([]);
  let sent = 0;
  const found = async () => readBucket(await s3.objects(), { id, prefix: 'raw', projectId: SITE });
  for (const point of POINTS) {
    const processor = cluster.process('processor');
    await processor.kill();
    processor.launch({ CRASH_POINT: point });
    await send(sent);
    sent += EVENTS;
    await waitFor(`the death at ${point}`, () => !processor.running, WAIT_MAX_MS);
    expect(processor.ending).toBe('SIGKILL');
    await processor.start();
    await waitFor('all events', async () => (await storedIds()).length >= sent, WAIT_MAX_MS);
    await waitFor(
      'all files',
      async () => (await found()).events.length === (await storedIds()).length,
      WAIT_MAX_MS,
    );
  }
  const { events, manifests } = await found();
  expect(events.map((event) => event.id).sort()).toEqual(await storedIds());
  expect(manifests.length).toBeGreaterThanOrEqual(POINTS.length);
});
