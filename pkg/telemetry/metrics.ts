import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** A value that only grows. */
export interface CounterMetric {
  inc(labels?: Labels, by?: number): void;
  /** Takes a series out of what there is no more. */
  remove(labels: Labels): void;
}
/** A value that goes up and down. */
export interface GaugeMetric {
  set(value: number, labels?: Labels): void;
  add(by: number, labels?: Labels): void;
  remove(labels: Labels): void;
}
/** A distribution; observe base units (seconds, bytes). */
export interface HistogramMetric {
  observe(value: number, labels?: Labels): void;
  remove(labels: Labels): void;
}
/** Values of the labels of one series, by name. */
export type Labels = Record<string, string>;

/** Name, help and label names of one metric. `initial` are the label values that start at zero. */
export interface MetricInit {
  name: string;
  help: string;
  labels?: readonly string[];
  initial?: readonly Labels[];
}

/** What a metric is, for people; a histogram's name is without suffix. */
export interface MetricDescription {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
}

/** Upper bounds in seconds, from a cached answer to a slow image pull. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/**
 * The metrics of one program: a registry of its own, nothing global. This file alone knows prom-client, which has moved to
 * another name; a change of library is a change here.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #prefix: string;
  readonly #described = new Map<string, MetricDescription>();

  /** @param prefix starts the names of the program's own metrics, for example "catalogd"; an underscore follows it. */
  constructor(prefix: string) {
    this.#prefix = `${prefix.replace(/_+$/, "")}_`;
  }

  /** The exposition format's media type, for the answer's Content-Type. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in the Prometheus text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** All metrics but those of the process, in the order in which they were made. */
  get described(): MetricDescription[] {
    return [...this.#described.values()];
  }

  /** Adds the standard process_* and nodejs_* metrics. Call once. */
  collectProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  /** A counter of the program's own; the prefix is put before the name. */
  counter(init: MetricInit): CounterMetric {
    return this.shared().counter({ ...init, name: this.#prefix + init.name });
  }

  /** A gauge of the program's own; `collect` is called before each reading, to set what is only known by looking. */
  gauge(init: MetricInit & { collect?: (gauge: GaugeMetric) => void }): GaugeMetric {
    return this.shared().gauge({ ...init, name: this.#prefix + init.name });
  }

  /** A histogram of the program's own; `buckets` are upper bounds, by default seconds from 5 ms to 5 min. */
  histogram(init: MetricInit & { buckets?: readonly number[] }): HistogramMetric {
    return this.shared().histogram({ ...init, name: this.#prefix + init.name });
  }

  /** The same without prefix, for names that dashboards know; asking again for a name gives the metric that exists. */
  shared(): Pick<Metrics, "counter" | "gauge" | "histogram"> {
    const registry = this.#registry;
    const describe = (type: MetricDescription["type"], { name, help, labels = [] }: MetricInit): void => {
      this.#described.set(name, { name, type, help, labels });
    };
    return {
      counter: (init) => {
        const { name, help, labels = [], initial = [] } = init;
        describe("counter", init);
        const metric = existing(registry, name, Counter) ?? new Counter({ name, help, labelNames: [...labels], registers: [registry] });
        for (const values of initial) metric.inc(values, 0);
        return { inc: (values = {}, by = 1) => metric.inc(values, by), remove: (values) => metric.remove(values) };
      },
      gauge: (init) => {
        const { name, help, labels = [], initial = [], collect } = init;
        describe("gauge", init);
        const options = { name, help, labelNames: [...labels], registers: [registry] };
        const metric = existing(registry, name, Gauge) ?? new Gauge(collect ? { ...options, collect: () => collect(gauge) } : options);
        const gauge: GaugeMetric = {
          set: (value, values = {}) => metric.set(values, value),
          add: (by, values = {}) => metric.inc(values, by),
          remove: (values) => metric.remove(values),
        };
        for (const values of initial) metric.set(values, 0);
        return gauge;
      },
      histogram: (init) => {
        const { name, help, labels = [], initial = [], buckets = SECONDS } = init;
        describe("histogram", init);
        const metric =
          existing(registry, name, Histogram) ??
          new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers: [registry] });
        for (const values of initial) metric.zero(values);
        return { observe: (value, values = {}) => metric.observe(values, value), remove: (values) => metric.remove(values) };
      },
    };
  }
}

/** The metrics of one program; `prefix` such as "operator_controller". */
export function createMetrics(prefix: string): Metrics {
  return new Metrics(prefix);
}

function existing<T>(registry: Registry, name: string, type: new (...args: never[]) => T): T | undefined {
  const metric = registry.getSingleMetric(name);
  return metric instanceof type ? metric : undefined;
}
