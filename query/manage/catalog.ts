import type { z } from 'zod';
import { CONTROL_BUCKET } from '../../infra/accounts/accounts.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { followBucket, Mirror } from '../../infra/bus/mirror.ts';
import type { Logger } from '../../infra/log.ts';
import { ERASURE_PREFIX, type Erasure, erasureSchema } from '../../processor/erasure.ts';
import { INTEGRATION_PREFIX, type Integration, integrationSchema } from '../../processor/integration.ts';
import {
  CONNECTION_PREFIX,
  type Connection,
  connectionKeyOf,
  connectionSchema,
} from '../../processor/search-console.ts';
import {
  type GoalRecord,
  goalSchema,
  type SegmentRecord,
  segmentSchema,
} from '../definitions/definition-records.ts';
import { reportSchema, type StoredReport } from '../reports/report-api.ts';
import { SHARE_PREFIX, type Share, shareSchema } from '../sign-in/share-record.ts';
import { USER_PREFIX, type User, userSchema } from '../sign-in/user-record.ts';
import { dashboardSchema, referenceSchema } from './catalog-api.ts';

export type Reference = z.output<typeof referenceSchema>;
export type Dashboard = z.output<typeof dashboardSchema>;
export type Report = StoredReport;

/** The problem with a value under a key, in words that reveal nothing of it; undefined if it is valid. */
export type RecordCheck = (key: string, value: unknown) => string | undefined;

/** The problem of a record under another's key. */
export const WRONG_KEY = 'its id does not match its key';

/** A kind of control record. */
interface RecordKind<Value> {
  /** Its keys begin with it. */
  readonly prefix: string;
  readonly check: RecordCheck;
  readonly mirror: () => Mirror<Value>;
}

/** @param keyOf the key of a record */
export function recordKind<Value>(
  prefix: string,
  schema: z.ZodType<Value>,
  keyOf: (record: Value) => string,
): RecordKind<Value> {
  return {
    prefix,
    mirror: () => new Mirror(prefix, schema),
    check: (key, value) => {
      const parsed = schema.safeParse(value);
      if (parsed.success) return keyOf(parsed.data) === key ? undefined : WRONG_KEY;
      const { path, message } = parsed.error.issues[0] ?? { path: [], message: 'unreadable' };
      return `${path.length === 0 ? '' : `${path.join('.')}: `}${message}`;
    },
  };
}

function kindById<Value extends { readonly id: string }>(
  prefix: string,
  schema: z.ZodType<Value>,
): RecordKind<Value> {
  return recordKind(prefix, schema, ({ id }) => prefix + id);
}

/** The kinds of control records besides teams, sites and clients. Mirrors and checks of backups follow from this list. */
export const CATALOG_KINDS = {
  references: kindById<Reference>('reference.', referenceSchema),
  dashboards: kindById<Dashboard>('dashboard.', dashboardSchema),
  reports: kindById<Report>('report.', reportSchema),
  segments: kindById<SegmentRecord>('segment.', segmentSchema),
  goals: kindById<GoalRecord>('goal.', goalSchema),
  /** Links that show a site. */
  shares: kindById<Share>(SHARE_PREFIX, shareSchema),
  /** Accounts of people that sign in. */
  users: kindById<User>(USER_PREFIX, userSchema),
  erasures: kindById<Erasure>(ERASURE_PREFIX, erasureSchema),
  /** Search Console connections of sites. */
  connections: recordKind<Connection>(CONNECTION_PREFIX, connectionSchema, ({ storedId }) =>
    connectionKeyOf(storedId),
  ),
  /** Integrations of sites with object storage buckets. */
  integrations: kindById<Integration>(INTEGRATION_PREFIX, integrationSchema),
} as const;

/** Mirrors of these records, kept current until `stop`. */
export class Catalog {
  readonly references = CATALOG_KINDS.references.mirror();
  readonly dashboards = CATALOG_KINDS.dashboards.mirror();
  readonly reports = CATALOG_KINDS.reports.mirror();
  readonly segments = CATALOG_KINDS.segments.mirror();
  readonly goals = CATALOG_KINDS.goals.mirror();
  readonly shares = CATALOG_KINDS.shares.mirror();
  readonly users = CATALOG_KINDS.users.mirror();
  readonly erasures = CATALOG_KINDS.erasures.mirror();
  readonly connections = CATALOG_KINDS.connections.mirror();
  readonly integrations = CATALOG_KINDS.integrations.mirror();
  readonly #mirrors = [
    this.references,
    this.dashboards,
    this.reports,
    this.segments,
    this.goals,
    this.shares,
    this.users,
    this.erasures,
    this.connections,
    this.integrations,
  ];
  #stop: () => void = () => {};

  private constructor() {}

  /** Resolves once the mirrors contain everything that is stored. */
  static async open(bus: Bus, log: Logger): Promise<Catalog> {
    const catalog = new Catalog();
    const bucket = await bus.keyed(CONTROL_BUCKET);
    catalog.#stop = await followBucket(bucket, catalog.#mirrors, log);
    return catalog;
  }

  stop(): void {
    this.#stop();
  }
}
