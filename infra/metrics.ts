// prom-client 15.1.3 is rejected: 81 ns per inc of a labelled counter and 216 ns per observe, against 1 ns and 15 ns here
// (medians of 7 runs of 10^7 and 2·10^6 on Node 20). Ingest counts several times per request.

/** Labels of one series: names and values from closed sets, never a site, a person or an address. */
export type Labels = Readonly<Record<string, string>>;

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

interface Family {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly series: Map<string, () => readonly string[]>;
}

/** A number that only grows. Counting is a plain addition, cheap enough to call for every request and batch. */
export class Counter {
  #value = 0;
  add(amount = 1): void {
    this.#value += amount;
  }
  get value(): number {
    return this.#value;
  }
}

/** A number that goes up and down. */
export class Gauge {
  value = 0;
  set(value: number): void {
    this.value = value;
  }
}

/** Observed values in fixed buckets, in the unit that the metric's name ends in. */
export class Histogram {
  readonly bounds: readonly number[];
  readonly counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count += 1;
    for (let index = 0; index < this.bounds.length; index += 1) {
      if (value <= (this.bounds[index] ?? Number.POSITIVE_INFINITY))
        this.counts[index] = (this.counts[index] ?? 0) + 1;
    }
  }

  get sum(): number {
    return this.#sum;
  }
  get count(): number {
    return this.#count;
  }
}

const SECONDS_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Every metric of one process, as Prometheus text. The same name and labels always return the same series. */
export class Metrics {
  readonly contentType: string = CONTENT_TYPE;
  readonly #families = new Map<string, Family>();
  readonly #objects = new Map<string, Counter | Gauge | Histogram>();

  counter(name: string, help: string, labels: Labels = {}): Counter {
    return this.#series(
      name,
      'counter',
      help,
      labels,
      () => new Counter(),
      (counter) => [`${name}${text(labels)} ${counter.value}`],
    );
  }

  gauge(name: string, help: string, labels: Labels = {}): Gauge {
    return this.#series(
      name,
      'gauge',
      help,
      labels,
      () => new Gauge(),
      (gauge) => [`${name}${text(labels)} ${gauge.value}`],
    );
  }

  /** A gauge whose value is read at each scrape. */
  gaugeOf(name: string, help: string, labels: Labels, read: () => number): void {
    this.#family(name, 'gauge', help).series.set(text(labels), () => [`${name}${text(labels)} ${read()}`]);
  }

  /** A histogram of seconds; `name` ends in `_seconds`. */
  seconds(name: string, help: string, labels: Labels = {}): Histogram {
    return this.#series(
      name,
      'histogram',
      help,
      labels,
      () => new Histogram(SECONDS_BOUNDS),
      (histogram) => [
        ...histogram.bounds.map(
          (bound, index) =>
            `${name}_bucket${text({ ...labels, le: String(bound) })} ${histogram.counts[index]}`,
        ),
        `${name}_bucket${text({ ...labels, le: '+Inf' })} ${histogram.count}`,
        `${name}_sum${text(labels)} ${histogram.sum}`,
        `${name}_count${text(labels)} ${histogram.count}`,
      ],
    );
  }

  /** One counter for each member of a closed list of reasons, all starting at zero. */
  reasons<Reason extends string>(
    name: string,
    help: string,
    reasons: readonly Reason[],
  ): Readonly<Record<Reason, Counter>> {
    const counters = {} as Record<Reason, Counter>;
    for (const reason of reasons) counters[reason] = this.counter(name, help, { reason });
    return counters;
  }

  /** The text exposition format, with metric families in the order of their first use. */
  expose(): string {
    const lines: string[] = [];
    for (const [name, family] of this.#families) {
      lines.push(`# HELP ${name} ${family.help}`, `# TYPE ${name} ${family.kind}`);
      for (const read of family.series.values()) lines.push(...read());
    }
    return `${lines.join('\n')}\n`;
  }

  #family(name: string, kind: Family['kind'], help: string): Family {
    let family = this.#families.get(name);
    if (family === undefined) {
      family = { kind, help, series: new Map() };
      this.#families.set(name, family);
    }
    return family;
  }

  #series<T extends Counter | Gauge | Histogram>(
    name: string,
    kind: Family['kind'],
    help: string,
    labels: Labels,
    create: () => T,
    lines: (metric: T) => readonly string[],
  ): T {
    const key = name + text(labels);
    const existing = this.#objects.get(key);
    if (existing !== undefined) return existing as T;
    const created = create();
    this.#objects.set(key, created);
    this.#family(name, kind, help).series.set(text(labels), () => lines(created));
    return created;
  }
}

function text(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/["\\\n]/g, '_')}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
