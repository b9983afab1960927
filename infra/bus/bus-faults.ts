import { type Logger, reasonOf } from '../log.ts';
import { type Counter, type Labels, Metrics } from '../metrics.ts';
import { DECODE_FAILURES, DecodeError } from './decode-error.ts';

/** The fault of a request or a record: it cannot be read, or it can be read and the work behind it `failed`. */
export const FAULTS = [...DECODE_FAILURES, 'failed'] as const;
export type Fault = (typeof FAULTS)[number];

function faultOf(error: unknown): Fault {
  return error instanceof DecodeError ? error.reason : 'failed';
}

/** Counts and logs a fault; returns its kind. */
export type NoteFault = (error: unknown, log?: Logger, fields?: object) => Fault;

/**
 * Counts and logs messages of the bus that cannot be used. Logs the first, second, fourth, … fault of one kind, so that a flood of them
 * does not fill the log.
 */
export class BusFaults {
  readonly #metrics: Metrics;
  readonly #log: Logger;
  readonly #gaps: Counter;

  constructor(log: Logger, metrics = new Metrics()) {
    this.#log = log;
    this.#metrics = metrics;
    this.#gaps = metrics.counter(
      'footfall_bus_stream_gaps_total',
      'Times that a reader found messages missing from its stream.',
    );
  }

  /** For the requests on one kind of subject; its counters start at zero. */
  ofRequests(subjectKind: string): NoteFault {
    return this.#counted({
      name: 'footfall_bus_bad_requests_total',
      help: 'Requests over the bus that were answered with "unavailable", by what was wrong.',
      labels: { subject_kind: subjectKind },
      message: 'bus: a request was answered with "unavailable"',
    });
  }

  /** For the records of one bucket; its counters start at zero. */
  ofRecords(bucket: string): NoteFault {
    return this.#counted({
      name: 'footfall_bus_bad_records_total',
      help: 'Changed records of a bucket that were ignored, by what was wrong.',
      labels: { bucket },
      message: 'bus: a changed record is ignored; its last readable value stays in use',
    });
  }

  gap(error: Error): void {
    this.#gaps.add();
    this.#log.error({ reason: reasonOf(error) }, 'bus: messages are missing from a stream');
  }

  #counted({ name, help, labels, message }: Counted): NoteFault {
    const counters = {} as Record<Fault, Counter>;
    for (const reason of FAULTS) counters[reason] = this.#metrics.counter(name, help, { ...labels, reason });
    return (error, log = this.#log, fields = {}) => {
      const fault = faultOf(error);
      counters[fault].add();
      const times = counters[fault].value;
      if (Number.isInteger(Math.log2(times)))
        log.warn({ ...labels, ...fields, fault, times, reason: reasonOf(error) }, message);
      return fault;
    };
  }
}

interface Counted {
  readonly name: string;
  readonly help: string;
  readonly labels: Labels;
  readonly message: string;
}
