import type { z } from 'zod';
import { CONTROL_BUCKET } from '../../infra/accounts/accounts.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { followBucket, Mirror } from '../../infra/bus/mirror.ts';
import type { Logger } from '../../infra/log.ts';
import { type Erasure, erasureSchema } from '../../processor/erasure.ts';
import { INTEGRATION_PREFIX, type Integration, integrationSchema } from '../../processor/integration.ts';
import { CONNECTION_PREFIX, type Connection, connectionSchema } from '../../processor/search-console.ts';
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

/** Mirrors of control records other than teams, sites and clients, kept current until `stop`. */
export class Catalog {
  readonly references = new Mirror<Reference>('reference.', referenceSchema);
  readonly dashboards = new Mirror<Dashboard>('dashboard.', dashboardSchema);
  readonly reports = new Mirror<Report>('report.', reportSchema);
  readonly segments = new Mirror<SegmentRecord>('segment.', segmentSchema);
  readonly goals = new Mirror<GoalRecord>('goal.', goalSchema);
  /** Links that show a site. */
  readonly shares = new Mirror<Share>(SHARE_PREFIX, shareSchema);
  /** Accounts of people that sign in. */
  readonly users = new Mirror<User>(USER_PREFIX, userSchema);
  readonly erasures = new Mirror<Erasure>('erasure.', erasureSchema);
  /** Search Console connections of sites. */
  readonly connections = new Mirror<Connection>(CONNECTION_PREFIX, connectionSchema);
  /** Integrations of sites with object storage buckets. */
  readonly integrations = new Mirror<Integration>(INTEGRATION_PREFIX, integrationSchema);
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
