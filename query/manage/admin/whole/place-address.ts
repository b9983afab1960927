import type { Config } from '../../../../infra/config.ts';
import { bucketAddress } from '../../../../infra/object-store/bucket-address.ts';
import { ObjectStore } from '../../../../infra/object-store/object-store.ts';
import type { NoteWriter } from '../table.ts';
import { BackupBucket } from './backup-bucket.ts';
import { BackupFolder } from './backup-folder.ts';
import type { BackupPlace } from './backup-place.ts';

const BUCKET = /^s3:\/\/([^/]+)(?:\/(.*))?$/;
/** The longest time of one request, which has a part of a file at most: for slow networks. Without a byte it ends sooner. */
const TIMEOUT_MS = 600_000;

/** True if the argument of a command is a bucket rather than a path. */
export function isBucket(argument: string): boolean {
  return argument.startsWith('s3://');
}

/** Lets a command use the place that its argument names: a folder, or `s3://bucket/prefix`. Throws an error for an operator. */
export async function withPlace<Result>(
  argument: string,
  config: Config,
  writeNote: NoteWriter,
  use: (place: BackupPlace) => Promise<Result>,
): Promise<Result> {
  if (!isBucket(argument)) return use(new BackupFolder(argument));
  const { store, bucket, prefix } = openBucket(argument, config);
  try {
    return await use(new BackupBucket({ store, bucket, prefix, writeNote }));
  } finally {
    store.close();
  }
}

function openBucket(argument: string, config: Config) {
  const [, bucket = '', path = ''] = BUCKET.exec(argument) ?? [];
  const prefix = path.replace(/^\/+|\/+$/g, '');
  const segments = prefix.split('/');
  if (bucket === '' || segments.includes('.') || segments.includes('..'))
    throw new Error(`${argument}: expected a bucket such as s3://bucket/prefix`);
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL } =
    config;
  if (AWS_ACCESS_KEY_ID === '' || AWS_SECRET_ACCESS_KEY === '')
    throw new Error(
      `${argument}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with which the bucket is reached`,
    );
  const access = {
    endpoint: AWS_ENDPOINT_URL === '' ? null : AWS_ENDPOINT_URL,
    region: AWS_REGION,
    bucket,
    // Storages beside Amazon's seldom have a name for each bucket.
    pathStyle: AWS_ENDPOINT_URL !== '',
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN === '' ? {} : { sessionToken: AWS_SESSION_TOKEN }),
  };
  // Reports an invalid address before the service is asked anything.
  bucketAddress(access);
  // ENDPOINTS_ALLOWED is about addresses that customers name. The operator that runs the command may reach any.
  const store = new ObjectStore({ access, mayConnect: () => true, timeoutMs: TIMEOUT_MS });
  return { store, bucket, prefix };
}
