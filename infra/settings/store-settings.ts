import { anyText, matching, type Setting } from './schemas.ts';

/** Rows of the table of `infra/config.ts` about a store that is not the embedded one. */
export const STORE_SETTINGS = {
  CLICKHOUSE_URL: {
    schema: anyText,
    default: '',
    help: 'URL of an external ClickHouse, with user and password if needed; several separated by commas are the shards of the store. Empty: the embedded store',
  },
  CLICKHOUSE_QUERY_URL: {
    schema: anyText,
    default: '',
    help: 'the same servers with a user that can only read, for questions. Empty: CLICKHOUSE_URL, or such a user of the embedded store',
  },
  CLICKHOUSE_DATABASE: {
    schema: matching(/^\w{1,64}$/, 'expected 1 to 64 letters, digits or _'),
    default: 'footfall',
    help: 'database that contains all tables',
  },
  STORE_CLUSTER: {
    schema: matching(/^[\w, -]{0,2048}$/, 'expected names of letters, digits, - or _, separated by commas'),
    default: '',
    help: 'experimental: name of the cluster of CLICKHOUSE_URL, whose servers are replicas of one shard: all of them get every table; of several shards one for each. `cloud` for ClickHouse Cloud. Empty: single servers',
  },
} as const satisfies Record<string, Setting>;
