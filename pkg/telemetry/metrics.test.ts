import { expect, test } from "vitest";
import { createMetrics, registerControllerMetrics, registerQueueMetrics, registerRestClientMetrics } from "./metrics.ts";

async function samples(metrics: ReturnType<typeof createMetrics>): Promise<string[]> {
  return (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

test("createMetrics adds the prefix of the server to metric names, and counters start at zero", async () => {
  const metrics = createMetrics("catalogd");
  const total = metrics.counter({ name: "unpacks_total", help: "h", labels: ["result"], initial: [{ result: "ok" }, { result: "error" }] });
  const size = metrics.gauge({ name: "content_bytes", help: "h", labels: ["catalog"] });
  metrics.histogram({ name: "unpack_seconds", help: "h", buckets: [1], initial: [{}] }).observe(0.5);
  total.inc({ result: "ok" }, 2);
  size.set(7, { catalog: "a" });
  size.add(3, { catalog: "a" });
  size.set(1, { catalog: "gone" });
  size.remove({ catalog: "gone" });
  expect(await samples(metrics)).toEqual([
    'catalogd_unpacks_total{result="ok"} 2',
    'catalogd_unpacks_total{result="error"} 0',
    'catalogd_content_bytes{catalog="a"} 10',
    'catalogd_unpack_seconds_bucket{le="1"} 1',
    'catalogd_unpack_seconds_bucket{le="+Inf"} 1',
    "catalogd_unpack_seconds_sum 0.5",
    "catalogd_unpack_seconds_count 1",
  ]);
});

test("createMetrics returns separate metrics for two servers in one process", async () => {
  createMetrics("a").counter({ name: "x_total", help: "h" }).inc();
  expect(await samples(createMetrics("b"))).toEqual([]);
});

test("controllers use the metric names of controller-runtime, even if several share a registry", async () => {
  const metrics = createMetrics("t");
  registerControllerMetrics(metrics, "other");
  const controller = registerControllerMetrics(metrics, "extension");
  controller.workers(4);
  controller.started();
  controller.started();
  controller.finished("error", 0.02, true);
  const lines = await samples(metrics);
  for (const want of [
    'controller_runtime_reconcile_total{controller="extension",result="error"} 1',
    'controller_runtime_reconcile_total{controller="extension",result="requeue_after"} 0',
    'controller_runtime_reconcile_total{controller="other",result="success"} 0',
    'controller_runtime_reconcile_errors_total{controller="extension"} 1',
    'controller_runtime_terminal_reconcile_errors_total{controller="extension"} 1',
    'controller_runtime_terminal_reconcile_errors_total{controller="other"} 0',
    'controller_runtime_reconcile_time_seconds_count{controller="extension"} 1',
    'controller_runtime_reconcile_time_seconds_count{controller="other"} 0',
    'controller_runtime_max_concurrent_reconciles{controller="extension"} 4',
    'controller_runtime_active_workers{controller="extension"} 1',
  ])
    expect(lines).toContain(want);
});

test("queues and requests use the metric names of client-go", async () => {
  const metrics = createMetrics("t");
  const queue = registerQueueMetrics(metrics, "extension");
  queue.added();
  queue.depth(3);
  queue.retried();
  queue.taken(0.1);
  registerRestClientMetrics(metrics)({ method: "GET", code: "200", host: "h:6443" });
  const lines = await samples(metrics);
  for (const want of [
    'workqueue_adds_total{name="extension",controller="extension"} 1',
    'workqueue_depth{name="extension",controller="extension"} 3',
    'workqueue_retries_total{name="extension",controller="extension"} 1',
    'workqueue_queue_duration_seconds_count{name="extension",controller="extension"} 1',
    'workqueue_work_duration_seconds_count{name="extension",controller="extension"} 0',
    'rest_client_requests_total{code="200",method="GET",host="h:6443"} 1',
  ])
    expect(lines).toContain(want);
});

test("process metrics are collected only after a call of collectProcess", async () => {
  const metrics = createMetrics("t");
  metrics.collectProcess();
  expect(await metrics.text()).toContain("process_resident_memory_bytes");
});
