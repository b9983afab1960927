import { anyText, type Setting } from './schemas.ts';

/**
 * Rows of the table of `infra/config.ts` about buckets: the customers', and the one for the operator's backups. The latter have the names that
 * other programs know, too, so a machine may have them for another program: no value of them stops a start.
 */
export const BUCKET_SETTINGS = {
  ENDPOINTS_ALLOWED: {
    schema: anyText,
    default: '',
    help: "comma-separated addresses or CIDR ranges to which customers' integrations may connect, in addition to public addresses; with `none` only the listed ones, with `any` all",
  },
  AWS_ACCESS_KEY_ID: {
    schema: anyText,
    default: '',
    help: 'for `npm run admin -- backup s3://…` and `restore`: ID of the key with which the bucket is reached. It needs the rights to list, read, write and remove objects',
  },
  AWS_SECRET_ACCESS_KEY: { schema: anyText, default: '', help: 'secret of AWS_ACCESS_KEY_ID' },
  AWS_SESSION_TOKEN: {
    schema: anyText,
    default: '',
    help: 'token of an AWS_ACCESS_KEY_ID that expires after some hours. Empty: it does not expire',
  },
  AWS_REGION: {
    schema: anyText,
    default: 'us-east-1',
    help: 'region of the bucket of a backup',
  },
  AWS_ENDPOINT_URL: {
    schema: anyText,
    default: '',
    help: "URL of another S3-compatible storage with the bucket of a backup, which may be on a private network. Empty: Amazon's of AWS_REGION",
  },
} as const satisfies Record<string, Setting>;
