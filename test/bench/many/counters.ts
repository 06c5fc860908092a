import type { World } from "../../support/world.ts";

/** What the servers have counted since they were started. */
export interface Counters {
  /** Resolutions of ClusterExtensions, those that failed included. */
  readonly resolutions: number;
  /** Answers of catalogd with content, and those that what the client knows has not changed. */
  readonly fetches: number;
  readonly notModified: number;
}

/** Reads both servers' metrics. @throws Error where one does not answer. */
export async function readCounters({ installation: { probes } }: World): Promise<Counters> {
  const [controller, catalogd] = await Promise.all([metricsOf(probes["operator-controller"]), metricsOf(probes.catalogd)]);
  return {
    resolutions: sumOf(controller, /^operator_controller_step_duration_seconds_count\{.*step="ResolveBundle".*\} (\S+)$/gm),
    fetches: sumOf(catalogd, /^catalogd_http_request_duration_seconds_count\{.*code="200".*\} (\S+)$/gm),
    notModified: sumOf(catalogd, /^catalogd_http_request_duration_seconds_count\{.*code="304".*\} (\S+)$/gm),
  };
}

async function metricsOf(base: string): Promise<string> {
  const answer = await fetch(`${base}/metrics`);
  if (!answer.ok) throw new Error(`${base}/metrics answered ${answer.status}`);
  return answer.text();
}

function sumOf(metrics: string, series: RegExp): number {
  return [...metrics.matchAll(series)].reduce((sum, [, value]) => sum + Number(value), 0);
}
