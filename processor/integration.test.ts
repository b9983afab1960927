import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../infra/config.ts';
import { BucketError } from '../infra/object-store/object-store.ts';
import { seal } from '../infra/sealed.ts';
import { S3_KEY, S3_REGION, type S3Server, startS3 } from '../infra/testing/s3-server.ts';
import {
  bucketOf,
  type Integration,
  integrationKeyOf,
  integrationSchema,
  readEndpointsAllowed,
} from './integration.ts';

describe('ENDPOINTS_ALLOWED', () => {
  test.each([
    ['', ['8.8.8.8'], ['127.0.0.1', '10.0.0.1', '::1', 'localhost']],
    ['127.0.0.1', ['8.8.8.8', '127.0.0.1'], ['127.0.0.2', '::1']],
    [
      ' 10.1.0.0/16, fd00::/8 ,',
      ['10.1.255.255', 'fd12::1'],
      ['10.2.0.0', 'fc00::1', 'fd12::1%eth0', '127.0.0.1'],
    ],
    ['any', ['127.0.0.1', '::1', '169.254.169.254'], []],
    ['10.0.0.0/8,any', ['127.0.0.1'], []],
    ['none', [], ['8.8.8.8', '127.0.0.1']],
    ['none, 127.0.0.1', ['127.0.0.1'], ['8.8.8.8', '10.0.0.1']],
  ])('%j allows %j and rejects %j', (setting, allowed, rejected) => {
    const isAllowed = readEndpointsAllowed(setting);
    expect([...allowed, ...rejected].filter(isAllowed)).toEqual(allowed);
  });

  test.each(['localhost', '10.0.0.0/33', 'all', '10.0.0.0/8;10.1.0.0/8', '*'])(
    '%j is named as a mistake',
    (setting) => {
      expect(() => readEndpointsAllowed(setting)).toThrow(ConfigError);
      expect(() => readEndpointsAllowed(setting)).toThrow(`ENDPOINTS_ALLOWED: expected an address`);
      expect(() => readEndpointsAllowed(setting)).toThrow(setting);
    },
  );
});

describe('the bucket of an integration', () => {
  const secretsKey = '0123456789abcdef'.repeat(4);
  let s3: S3Server;
  beforeAll(async () => {
    s3 = await startS3({ buckets: ['events'] });
  });
  afterAll(() => s3.stop());

  const id = 'd6a6f0c6-3f0e-4a52-9d3f-0f6a3a1f8f11';
  function integration(changes: Partial<Integration> = {}): Integration {
    return integrationSchema.parse({
      id,
      teamId: 'team',
      projectId: 'shop',
      storedId: 'shop',
      name: 'events',
      type: 's3',
      bucket: 'events',
      prefix: '',
      region: S3_REGION,
      endpoint: s3.endpoint,
      pathStyle: true,
      accessKeyId: S3_KEY.accessKeyId,
      sealed: seal(secretsKey, integrationKeyOf(id), S3_KEY.secretAccessKey),
      format: 'parquet',
      paused: false,
      backfills: [],
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
      ...changes,
    });
  }
  const options = { secretsKey, endpointsAllowed: readEndpointsAllowed('127.0.0.0/8'), timeoutMs: 10_000 };

  test('is reached with the secret that was sealed', async () => {
    const bucket = bucketOf(integration(), options);
    await bucket?.put('a', Buffer.from('a'), { contentType: 'text/plain' });
    expect((await s3.objects()).get('a')).toEqual(Buffer.from('a'));
    bucket?.close();
  });

  test('is not reached where it may not be', async () => {
    const bucket = bucketOf(integration(), { ...options, endpointsAllowed: readEndpointsAllowed('') });
    const error = await bucket?.get('a', 10).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BucketError);
    expect(error).toMatchObject({ failure: 'address-refused' });
    bucket?.close();
  });

  test.each<[what: string, changes: Partial<Integration>, key: string]>([
    ['was sealed with another key', {}, 'f'.repeat(64)],
    ['cannot be opened without a key', {}, ''],
    ['was sealed for another integration', { id: 'd6a6f0c6-3f0e-4a52-9d3f-0f6a3a1f8f12' }, secretsKey],
    ['is damaged', { sealed: 'nonsense' }, secretsKey],
  ])('is none when the secret %s', (_what, changes, key) => {
    expect(bucketOf(integration(changes), { ...options, secretsKey: key })).toBeUndefined();
  });
});
