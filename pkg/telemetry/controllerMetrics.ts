import type { Metrics } from "./metrics.ts";

/** How one reconcile ended, as controller-runtime labels it. */
export type ReconcileResult = "success" | "error" | "requeue" | "requeue_after";
const RESULTS: readonly ReconcileResult[] = ["success", "error", "requeue", "requeue_after"];

/** What a controller reports of its reconciles. */
export interface ControllerMetrics {
  started(): void;
  /** @param terminal the reconcile failed in a way that trying again cannot cure. */
  finished(result: ReconcileResult, seconds: number, terminal: boolean): void;
  workers(count: number): void;
}

/** What a work queue reports of its keys. */
export interface QueueMetrics {
  depth(length: number): void;
  added(): void;
  retried(): void;
  /** A key was taken after waiting this long. */
  taken(waitedSeconds: number): void;
  /** A key was worked on for this long. */
  worked(seconds: number): void;
}

/**
 * The metrics of one controller under controller-runtime's names, all label values at zero from the start.
 * @see sigs.k8s.io/controller-runtime pkg/internal/controller/metrics
 */
export function controllerMetrics(metrics: Metrics, controller: string): ControllerMetrics {
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
 * The metrics of one work queue under client-go's names.
 * @see sigs.k8s.io/controller-runtime pkg/metrics/workqueue.go
 */
export function queueMetrics(metrics: Metrics, name: string): QueueMetrics {
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

/** Counts requests to the API server under client-go's name; give it to a kube client as `observe`. */
export function restClientMetrics(metrics: Metrics): (request: { method: string; code: string; host: string }) => void {
  const total = metrics.shared().counter({
    name: "rest_client_requests_total",
    help: "Number of HTTP requests, partitioned by status code, method, and host",
    labels: ["code", "method", "host"],
  });
  return ({ method, code, host }) => total.inc({ code, method, host });
}

/** What an election reports. */
export interface LeaderMetrics {
  leading(leading: boolean): void;
}

/**
 * Whether this process leads, under client-go's name.
 * @see sigs.k8s.io/controller-runtime pkg/metrics/leaderelection.go
 */
export function leaderMetrics(metrics: Metrics, name: string): LeaderMetrics {
  const master = metrics.shared().gauge({
    name: "leader_election_master_status",
    help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    labels: ["name"],
  });
  return { leading: (leading) => master.set(leading ? 1 : 0, { name }) };
}
