import { randomUUID } from 'node:crypto';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { systemClock } from '../../../infra/clock.ts';
import { Semaphore } from '../../../infra/concurrency/semaphore.ts';
import { Metrics } from '../../../infra/metrics.ts';
import { ObjectStore } from '../../../infra/object-store/object-store.ts';
import type { CrashPoint } from '../../../infra/process/crashpoint.ts';
import { type FaultProxy, startFaultProxy } from '../../../infra/testing/fault-proxy.ts';
import { storedId } from '../../../infra/testing/ids.ts';
import { S3_KEY, S3_REGION, type S3Server, startS3 } from '../../../infra/testing/s3-server.ts';
import { DELIVERIES_BUCKET, type Integration } from '../../integration.ts';
import { type LaneWorld, startLaneWorld } from '../../testing/lane-world.ts';
import type { DeliveryDeps } from '../advance.ts';
import { createDeliveryMetrics } from '../delivery-metrics.ts';
import type { DeliveryLimits } from '../limits.ts';
import type { DeliveryBucket } from '../step-files.ts';

export const BUCKET = 'events-of-customers';
export const LANES = 3;
/** Longer than a busy machine takes. */
const TIMEOUT_MS = 10_000;

/** So low that few events need several files an hour, and several steps. */
export const LOW_LIMITS: DeliveryLimits = { stepRows: 6, stepHours: 2, fileRows: 3, fileBytes: 1_000_000 };

/** A bus, a store, and an object storage behind a proxy that fails on demand. */
export interface DeliveryWorld {
  readonly lane: LaneWorld;
  readonly s3: S3Server;
  readonly proxy: FaultProxy;
  readonly deliveries: KeyedBytes;
  stop(): Promise<void>;
}

export async function startDeliveryWorld(name: string): Promise<DeliveryWorld> {
  const lane = await startLaneWorld(name);
  const s3 = await startS3({ buckets: [BUCKET] });
  const proxy = await startFaultProxy(s3.endpoint);
  return {
    lane,
    s3,
    proxy,
    deliveries: await lane.bus.keyed(DELIVERIES_BUCKET),
    stop: async () => {
      await lane.stop();
      await proxy.stop();
      await s3.stop();
    },
  };
}

/** An integration of its own site. Its sealed secret is the key of the storage in plain text. */
export function integrationOf(world: DeliveryWorld, fields: Partial<Integration> = {}): Integration {
  const id = randomUUID();
  const projectId = fields.projectId ?? `site-${id.slice(0, 8)}`;
  const at = new Date().toISOString();
  return {
    id,
    teamId: 'team',
    projectId,
    storedId: storedId(projectId),
    name: 'test',
    type: 's3',
    bucket: BUCKET,
    prefix: `of/${id.slice(0, 8)}`,
    region: S3_REGION,
    endpoint: world.proxy.endpoint,
    pathStyle: true,
    accessKeyId: S3_KEY.accessKeyId,
    sealed: S3_KEY.secretAccessKey,
    format: 'parquet',
    paused: false,
    backfills: [],
    createdAt: at,
    updatedAt: at,
    ...fields,
  };
}

/** The bucket of an integration of `integrationOf`; an empty secret is an undecryptable one. */
export function openBucket(
  integration: Integration,
  timeoutMs: number = TIMEOUT_MS,
): DeliveryBucket | undefined {
  const { endpoint, region, bucket, pathStyle, accessKeyId, sealed } = integration;
  if (sealed === '') return undefined;
  return new ObjectStore({
    access: { endpoint, region, bucket, pathStyle, accessKeyId, secretAccessKey: sealed },
    mayConnect: () => true,
    timeoutMs,
  });
}

/** The dependencies of a process that crashes where `crashPoint` throws. */
export function depsOf(
  { lane, deliveries }: DeliveryWorld,
  {
    laneRecords,
    crashPoint = () => {},
    limits = LOW_LIMITS,
    timeoutMs = TIMEOUT_MS,
  }: {
    readonly laneRecords: KeyedBytes;
    readonly crashPoint?: (point: CrashPoint) => void;
    readonly limits?: DeliveryLimits;
    /** Timeout of a request to the storage. */
    readonly timeoutMs?: number;
  },
): DeliveryDeps {
  return {
    store: lane.store,
    laneRecords,
    deliveries,
    lanes: LANES,
    clock: systemClock,
    limits,
    fileSemaphore: new Semaphore(2),
    planSemaphore: new Semaphore(1),
    metrics: createDeliveryMetrics(new Metrics()),
    crashPoint,
    openBucket: (integration) => openBucket(integration, timeoutMs),
    throwIfStopping: () => {},
  };
}
