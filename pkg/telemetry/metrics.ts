import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** A counter, which only increases. */
export interface CounterMetric {
  inc(labels?: Labels, by?: number): void;
  /** Removes the series of a deleted object. */
  remove(labels: Labels): void;
}
/** A gauge, which increases and decreases. */
export interface GaugeMetric {
  set(value: number, labels?: Labels): void;
  add(by: number, labels?: Labels): void;
  remove(labels: Labels): void;
}
/** A histogram. Use base units (seconds, bytes). */
export interface HistogramMetric {
  observe(value: number, labels?: Labels): void;
  remove(labels: Labels): void;
}
/** The label values of a series, by label name. */
export type Labels = Record<string, string>;

/** Name, help and label names of a metric. `initial` lists the series that start at zero. */
export interface MetricInit {
  name: string;
  help: string;
  labels?: readonly string[];
  initial?: readonly Labels[];
}

/** Description of a metric for the reference. The name of a histogram has no suffix. */
export interface MetricDescription {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
}

/** Upper bounds of the buckets in seconds, from a cached response to a slow image pull. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/**
 * The metrics of one program in a separate registry, without global state. Only this file uses
 * prom-client, so that a change of the library affects only this file.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #prefix: string;
  readonly #described = new Map<string, MetricDescription>();

  /**
   * @param prefix prefix of the program's own metric names, without the underscore, for example
   * "catalogd".
   */
  constructor(prefix: string) {
    this.#prefix = `${prefix.replace(/_+$/, "")}_`;
  }

  /** The media type of the text format, for the Content-Type header. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Returns all metrics in the Prometheus text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Describes all metrics except the process metrics, in order of creation. */
  get described(): MetricDescription[] {
    return [...this.#described.values()];
  }

  /** Adds the standard process_* and nodejs_* metrics. Call once. */
  collectProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  /** Creates a counter with the program's prefix. */
  counter(init: MetricInit): CounterMetric {
    return this.shared().counter({ ...init, name: this.#prefix + init.name });
  }

  /**
   * Creates a gauge with the program's prefix; `collect` is called before each scrape to set its
   * value.
   */
  gauge(init: MetricInit & { collect?: (gauge: GaugeMetric) => void }): GaugeMetric {
    return this.shared().gauge({ ...init, name: this.#prefix + init.name });
  }

  /**
   * Creates a histogram with the program's prefix; `buckets` are upper bounds, by default seconds
   * from 5 ms to 5 min.
   */
  histogram(init: MetricInit & { buckets?: readonly number[] }): HistogramMetric {
    return this.shared().histogram({ ...init, name: this.#prefix + init.name });
  }

  /**
   * Creates metrics without a prefix, for names that existing dashboards use. Returns the existing
   * metric if the name is already registered.
   */
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

/** Creates the metrics of one program; `prefix` is for example "operator_controller". */
export function createMetrics(prefix: string): Metrics {
  return new Metrics(prefix);
}

function existing<T>(registry: Registry, name: string, type: new (...args: never[]) => T): T | undefined {
  const metric = registry.getSingleMetric(name);
  return metric instanceof type ? metric : undefined;
}

/** Result of a reconcile: a value of label `result` of controller-runtime. */
type ReconcileLabel = "success" | "error" | "requeue" | "requeue_after";
const RESULTS: readonly ReconcileLabel[] = ["success", "error", "requeue", "requeue_after"];

/** Metrics of a controller's reconciles. */
export interface ControllerMetrics {
  started(): void;
  /** @param terminal whether the reconcile failed with a terminal error, for which a retry does not help. */
  finished(result: ReconcileLabel, seconds: number, terminal: boolean): void;
  workers(count: number): void;
}

/** Metrics of a work queue. */
export interface QueueMetrics {
  depth(length: number): void;
  added(): void;
  retried(): void;
  /** Records how long a key waited in the queue. */
  taken(waitedSeconds: number): void;
  /** Records the processing time of a key. */
  worked(seconds: number): void;
}

/**
 * Creates the metrics of one controller with the metric names of controller-runtime. All series
 * start at zero.
 * @see sigs.k8s.io/controller-runtime v0.24.1 pkg/internal/controller/metrics
 */
export function registerControllerMetrics(metrics: Metrics, controller: string): ControllerMetrics {
  const labels = { controller };
  const one = { labels: ["controller"], initial: [labels] };
  const shared = metrics.shared();
  const total = shared.counter({
    name: "controller_runtime_reconcile_total",
    help: "Total number of reconciliations per controller",
    labels: ["controller", "result"],
    initial: RESULTS.map((result) => ({ controller, result })),
  });
  const errors = shared.counter({
    name: "controller_runtime_reconcile_errors_total",
    help: "Total number of reconciliation errors per controller",
    ...one,
  });
  const terminalErrors = shared.counter({
    name: "controller_runtime_terminal_reconcile_errors_total",
    help: "Total number of terminal reconciliation errors per controller",
    ...one,
  });
  const time = shared.histogram({
    name: "controller_runtime_reconcile_time_seconds",
    help: "Length of time per reconciliation per controller",
    ...one,
  });
  const maximum = shared.gauge({
    name: "controller_runtime_max_concurrent_reconciles",
    help: "Maximum number of concurrent reconciles per controller",
    ...one,
  });
  const active = shared.gauge({
    name: "controller_runtime_active_workers",
    help: "Number of currently used workers per controller",
    ...one,
  });
  return {
    started: () => active.add(1, labels),
    finished: (result, seconds, terminal) => {
      active.add(-1, labels);
      total.inc({ controller, result });
      time.observe(seconds, labels);
      if (result === "error") errors.inc(labels);
      if (terminal) terminalErrors.inc(labels);
    },
    workers: (count) => maximum.set(count, labels),
  };
}

/**
 * Creates the metrics of one work queue with the metric names of client-go.
 * @see sigs.k8s.io/controller-runtime v0.24.1 pkg/metrics/workqueue.go
 */
export function registerQueueMetrics(metrics: Metrics, name: string): QueueMetrics {
  const labels = { name, controller: name };
  const one = { labels: ["name", "controller"], initial: [labels] };
  const shared = metrics.shared();
  const depth = shared.gauge({ name: "workqueue_depth", help: "Current depth of workqueue", ...one });
  const adds = shared.counter({ name: "workqueue_adds_total", help: "Total number of adds handled by workqueue", ...one });
  const retries = shared.counter({ name: "workqueue_retries_total", help: "Total number of retries handled by workqueue", ...one });
  const waiting = shared.histogram({
    name: "workqueue_queue_duration_seconds",
    help: "How long in seconds an item stays in workqueue before being requested",
    ...one,
  });
  const work = shared.histogram({
    name: "workqueue_work_duration_seconds",
    help: "How long in seconds processing an item from workqueue takes",
    ...one,
  });
  return {
    depth: (length) => depth.set(length, labels),
    added: () => adds.inc(labels),
    retried: () => retries.inc(labels),
    taken: (seconds) => waiting.observe(seconds, labels),
    worked: (seconds) => work.observe(seconds, labels),
  };
}

/**
 * Returns a function that counts API server requests with the metric name of client-go. Pass it to
 * a kube client as `observe`.
 */
export function registerRestClientMetrics(metrics: Metrics): (request: { method: string; code: string; host: string }) => void {
  const total = metrics.shared().counter({
    name: "rest_client_requests_total",
    help: "Number of HTTP requests, partitioned by status code, method, and host",
    labels: ["code", "method", "host"],
  });
  return ({ method, code, host }) => total.inc({ code, method, host });
}

/** Metrics of leader election. */
export interface LeaderMetrics {
  leading(leading: boolean): void;
}

/**
 * Creates the leadership gauge with the metric name of client-go.
 * @see sigs.k8s.io/controller-runtime v0.24.1 pkg/metrics/leaderelection.go
 */
export function registerLeaderMetrics(metrics: Metrics, name: string): LeaderMetrics {
  const master = metrics.shared().gauge({
    name: "leader_election_master_status",
    help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    labels: ["name"],
  });
  return { leading: (leading) => master.set(leading ? 1 : 0, { name }) };
}
