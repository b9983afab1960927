import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { storedId } from '../../infra/testing/ids.ts';
import {
  beginMessage,
  type Event,
  encodeEvent,
  endMessage,
  LANES_DEFAULT,
  laneOf,
  SCREEN_VIEW,
  subjectOf,
} from '../../ingest/event.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { decodeHotAnswer, encodeHotQuestion, hotSubjectOf } from '../../processor/hot.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { cpuMicros, residentBytes, startCpuMeter } from '../cluster/process-cost.ts';
import { storedCounts } from '../cluster/stored.ts';
import { type Finding, rounded } from './results.ts';
import { retainedBytesPerSession } from './session-state.ts';

/**
 * Question: how much memory does an open session take in the processor, and how long does a restart take with many of
 * them? Encoded events go straight to the bus, one for each of `devices` devices, so no collector is involved. The
 * figure is the growth of the process from a tenth of the devices to all of them, over the sessions in between: memory
 * the process has anyway (code, buffers of a flush) is in both. It is resident memory, including garbage that was not
 * collected yet. The restarted process, having built nothing else, gives a second figure, and one lane folded
 * in this process, with the garbage collected, a third: what the state itself takes.
 *
 * Not measured: event ids (retained for a day under their own cap), many sites, long paths and profile names.
 */
export interface SessionMemoryOptions {
  readonly devices: number;
}

const SITE = 'demo';
const SEED = 20_240_503;
const EVENTS_PER_MESSAGE = 1_000;
const MESSAGE_BYTES_MAX = 1_000_000;
const WAIT_MAX_MS = 300_000;
const SETTLE_MS = 3_000;
const GOAL_BYTES = 300;

export async function sessionMemoryBench(options: SessionMemoryOptions): Promise<Finding> {
  await using cluster = await Cluster.start({
    hosts: {},
    processors: ['processor'],
    withStore: true,
    env: { LOG_LEVEL: 'warn', LEASE_MS: '3000' },
  });
  const bus = await Bus.connect({ url: cluster.busUrl, name: 'bench' }, createLogger('bench', 'warn'));
  const publisher = new Publisher(bus);
  const processor = cluster.process('processor');
  const fill = async (upTo: number) => {
    await publisher.publish(upTo);
    await everythingStored(cluster, upTo);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    return residentBytes(processor.pid);
  };
  try {
    const emptyBytes = residentBytes(processor.pid);
    const few = Math.ceil(options.devices / 10);
    const fewBytes = await fill(few);
    const allBytes = await fill(options.devices);
    await processor.stop();
    const startedMs = performance.now();
    const meter = startCpuMeter({ store: cluster.process('store').pid, bus: cluster.process('bus').pid });
    await processor.start();
    const readyMs = performance.now() - startedMs;
    await waitFor('every lane answers', () => allAnswer(bus), WAIT_MAX_MS);
    const caughtUpMs = performance.now() - startedMs;
    const spent = { ...meter(), processor: cpuMicros(processor.pid) };
    const restartedBytes = residentBytes(processor.pid);
    const bytesPerSession = (allBytes - fewBytes) / (options.devices - few);
    const ofOneLane = Math.ceil(options.devices / LANES_DEFAULT);
    const retained = retainedBytesPerSession(publisher.events(ofOneLane), ofOneLane);
    return {
      name: 'sessions',
      config: { ...options, lanes: LANES_DEFAULT, seed: SEED, busVersion: cluster.busVersion },
      figures: {
        stateBytesPerSession: rounded(retained),
        residentBytesPerSession: rounded(bytesPerSession),
        residentBytesPerSessionAfterRestart: rounded((restartedBytes - emptyBytes) / options.devices),
        emptyMegabytes: rounded(emptyBytes / 1e6),
        fullMegabytes: rounded(allBytes / 1e6),
        restartedMegabytes: rounded(restartedBytes / 1e6),
        restartReadyMs: Math.round(readyMs),
        restartCaughtUpMs: Math.round(caughtUpMs),
        restartCpuMs: Object.fromEntries(
          Object.entries(spent).map(([name, micros]) => [name, Math.round(micros / 1_000)]),
        ),
      },
      verdict: bytesPerSession <= GOAL_BYTES ? 'reached' : 'missed',
      reasons: [
        `${Math.round(bytesPerSession)} resident bytes an open session, goal ${GOAL_BYTES}`,
        `${Math.round(retained)} of them are the lane's state; the rest is garbage, buffers of flushes and free memory of the process`,
      ],
    };
  } finally {
    await bus.close();
  }
}

/** Publishes one screen view for each device, in order, as one collector that fills its messages. */
class Publisher {
  readonly #bus: Bus;
  readonly #random = new SeededRandom(SEED);
  readonly #sequences = new Array<number>(LANES_DEFAULT).fill(0);
  #published = 0;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Raises the number of published devices to `devices`. */
  async publish(devices: number): Promise<void> {
    const queues = Array.from({ length: LANES_DEFAULT }, () => ({
      writer: new RowBinaryWriter(MESSAGE_BYTES_MAX),
      count: 0,
    }));
    for (; this.#published < devices; this.#published += 1) {
      const event = this.#event(this.#published);
      const lane = laneOf(storedId(SITE), event.deviceId, { lanes: LANES_DEFAULT, storeShards: 1 });
      const queue = queues[lane];
      if (queue === undefined) continue;
      if (queue.count === 0) this.#begin(queue.writer, lane);
      encodeEvent(queue.writer, event);
      queue.count += 1;
      if (queue.count === EVENTS_PER_MESSAGE) await this.#send(queue, lane);
    }
    for (const [lane, queue] of queues.entries()) if (queue.count > 0) await this.#send(queue, lane);
  }

  /** This many events, each from its own device. */
  *events(count: number): Generator<Event> {
    for (let index = 0; index < count; index += 1) yield this.#event(index);
  }

  #begin(writer: RowBinaryWriter, lane: number): void {
    const publisherSequence = (this.#sequences[lane] ?? 0) + 1;
    this.#sequences[lane] = publisherSequence;
    beginMessage(writer, { publisherId: BigInt(SEED), publisherSequence, sentAtMs: Date.now() });
  }

  async #send(queue: { readonly writer: RowBinaryWriter; count: number }, lane: number): Promise<void> {
    endMessage(queue.writer, queue.count);
    queue.count = 0;
    await this.#bus.publish(subjectOf(lane), queue.writer.take(), 30_000);
  }

  #event(index: number): Event {
    const atMs = Date.now();
    return {
      projectId: storedId(SITE),
      deviceId: this.#hexadecimal(),
      profileId: '',
      eventId: '',
      name: SCREEN_VIEW,
      occurredAtMs: atMs,
      receivedAtMs: atMs,
      credit: false,
      certain: false,
      sessionId: this.#hexadecimal(),
      revenue: undefined,
      currency: '',
      orderId: '',
      origin: 'https://shop.example',
      path: `/shop/item-${index % 500}`,
      query: '',
      hash: '',
      title: `Item ${index % 500}`,
      source: sourceOf(index),
      environment: environmentOf(index),
      groups: [],
      properties: [],
      sdkName: 'web',
      sdkVersion: '1.0.0',
    };
  }

  #hexadecimal(): string {
    let digits = '';
    for (let part = 0; part < 4; part += 1) {
      digits += this.#random.integer(0, 0xffff_ffff).toString(16).padStart(8, '0');
    }
    return digits;
  }
}

function sourceOf(index: number): Event['source'] {
  const referrerName = ['', 'Google', 'Hacker News', 'DuckDuckGo'][index % 4] ?? '';
  return {
    referrer: referrerName === '' ? '' : `https://${referrerName.toLowerCase().replace(' ', '')}.example/`,
    referrerName,
    referrerType: referrerName === '' ? '' : 'search',
    utmSource: '',
    utmMedium: '',
    utmCampaign: '',
    utmTerm: '',
    utmContent: '',
    channel: referrerName === '' ? 'direct' : 'search',
  };
}

function environmentOf(index: number): Event['environment'] {
  const place = index % 2_000;
  return {
    country: 'DE',
    region: `Region ${place % 16}`,
    city: `City ${place}`,
    longitude: 6 + place / 250,
    latitude: 47 + place / 300,
    browser: 'Chrome',
    browserVersion: '126.0',
    os: 'Windows',
    osVersion: '10',
    device: 'desktop',
    brand: '',
    model: '',
    language: 'de-DE',
    timezone: 'Europe/Berlin',
    screen: '1920x1080',
  };
}

async function everythingStored(cluster: Cluster, events: number): Promise<void> {
  const store = cluster.openStore();
  const stored = async () => (await storedCounts(store, SITE)).inSessions >= events;
  await waitFor(`${events} sessions are stored`, stored, WAIT_MAX_MS);
  await store.close();
}

/** True if the owner of every lane answers questions, which it does once its state is restored. */
async function allAnswer(bus: Bus): Promise<boolean> {
  const question = encodeHotQuestion({ kind: 'live', projectId: storedId(SITE), nowMs: Date.now() });
  const lanes = Array.from({ length: LANES_DEFAULT }, (_, lane) => lane);
  const kinds = await Promise.all(
    lanes.map((lane) =>
      bus.ask(hotSubjectOf(lane), question, 5_000).then(
        (bytes) => decodeHotAnswer(bytes).head.kind,
        () => 'unavailable',
      ),
    ),
  );
  return kinds.every((kind) => kind === 'live');
}
