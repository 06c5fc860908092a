import type { World } from "../../support/world.ts";

/** Counters of the servers since their start. */
export interface Counters {
  /** Resolutions of ClusterExtensions, including failed ones. */
  readonly resolutions: number;
  /** Responses of catalogd with content, and those with status 304. */
  readonly fetches: number;
  readonly notModified: number;
}

/** Reads the metrics of both servers. @throws Error if one does not respond. */
export async function readCounters({ installation: { probes } }: World): Promise<Counters> {
  const [controller, catalogd] = await Promise.all([fetchMetrics(probes["operator-controller"]), fetchMetrics(probes.catalogd)]);
  return {
    resolutions: computeSum(controller, /^operator_controller_step_duration_seconds_count\{.*step="ResolveBundle".*\} (\S+)$/gm),
    fetches: computeSum(catalogd, /^catalogd_http_request_duration_seconds_count\{.*code="200".*\} (\S+)$/gm),
    notModified: computeSum(catalogd, /^catalogd_http_request_duration_seconds_count\{.*code="304".*\} (\S+)$/gm),
  };
}

async function fetchMetrics(base: string): Promise<string> {
  const response = await fetch(`${base}/metrics`);
  if (!response.ok) throw new Error(`${base}/metrics returned ${response.status}`);
  return response.text();
}

function computeSum(metrics: string, series: RegExp): number {
  return [...metrics.matchAll(series)].reduce((sum, [, value]) => sum + Number(value), 0);
}
