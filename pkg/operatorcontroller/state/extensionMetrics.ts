import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import type { CounterMetric, GaugeMetric, HistogramMetric, Labels, Metrics } from "../../telemetry/metrics.ts";
import { compareVersionRelease, formatVersionRelease, parseVersionRelease, type VersionRelease } from "../../version/version.ts";
import { hasSpec } from "./extensionSpec.ts";

/** Metrics of extensions. The series of a deleted extension are removed. */
export class ExtensionMetrics {
  readonly #info: SeriesByExtension;
  readonly #conditions: SeriesByExtension;
  readonly #updates: SeriesByExtension;
  readonly #corrections: CounterMetric;
  readonly #steps: HistogramMetric;

  constructor(metrics: Metrics) {
    this.#info = new SeriesByExtension(
      metrics.gauge({
        name: "extension_info",
        help: "Installed bundle of each ClusterExtension, always 1; labels bundle and version are empty if no bundle is installed",
        labels: ["extension", "package", "bundle", "version"],
      }),
    );
    this.#conditions = new SeriesByExtension(
      metrics.gauge({
        name: "extension_condition",
        help: "Current status (True, False or Unknown) of each ClusterExtension condition, always 1",
        labels: ["extension", "condition", "status"],
      }),
    );
    this.#updates = new SeriesByExtension(
      metrics.gauge({
        name: "extension_update_available",
        help: "Available update of each ClusterExtension, always 1; label version is the highest version of the package in its catalog",
        labels: ["extension", "installed", "version"],
      }),
    );
    this.#corrections = metrics.counter({
      name: "drift_corrections_total",
      help: "Number of installed objects that the controller restored after they were deleted or changed",
      labels: ["extension"],
    });
    this.#steps = metrics.histogram({
      name: "step_duration_seconds",
      help: "Duration of each step, such as ResolveBundle or ApplyBundle, when a ClusterExtension is reconciled",
      labels: ["step", "result"],
    });
  }

  /**
   * Updates the series of an extension after a reconcile.
   * @param newest highest version of the package in the catalog; undefined keeps the current series.
   */
  report(extension: Readonly<ClusterExtension>, { conditions = [], install }: ClusterExtensionStatus, newest?: VersionRelease): void {
    const { name } = extension.metadata;
    const packageName = hasSpec(extension) ? (extension.spec.source?.catalog?.packageName ?? "") : "";
    const { name: bundle = "", version = "" } = install?.bundle ?? {};
    this.#info.set(name, [{ extension: name, package: packageName, bundle, version }]);
    if (install) this.#reportUpdate(name, install.bundle, newest);
    else this.#updates.set(name, []);
    this.#conditions.set(
      name,
      conditions.map(({ type, status }) => ({ extension: name, condition: type, status })),
    );
  }

  /** Keeps the series of the installed bundle if no catalog was available. */
  #reportUpdate(
    extension: string,
    { version, release }: { version: string; release?: string | undefined },
    newest: VersionRelease | undefined,
  ): void {
    if (!newest) return;
    const hasUpdate = isHigher(newest, version, release);
    this.#updates.set(extension, hasUpdate ? [{ extension, installed: version, version: formatVersionRelease(newest) }] : []);
  }

  /** Counts corrected objects of an extension. */
  countCorrections(extension: string, objects: number): void {
    this.#corrections.inc({ extension }, objects);
  }

  /** Removes the series of a deleted extension. */
  forget(extension: string): void {
    this.#info.set(extension, []);
    this.#conditions.set(extension, []);
    this.#updates.set(extension, []);
    this.#corrections.remove({ extension });
  }

  /** Records the duration of a step in seconds, and whether it failed. */
  recordStep(step: string, seconds: number, hasFailed: boolean): void {
    this.#steps.observe(seconds, { step, result: hasFailed ? "error" : "success" });
  }
}

/** Reports whether `newest` is higher; false if the installed version is malformed. */
function isHigher(newest: VersionRelease, version: string, release: string | undefined): boolean {
  try {
    return compareVersionRelease(newest, parseVersionRelease(version, release)) > 0;
  } catch {
    return false;
  }
}

/** The series of a gauge, by extension. */
class SeriesByExtension {
  readonly #gauge: GaugeMetric;
  readonly #series = new Map<string, Labels[]>();

  constructor(gauge: GaugeMetric) {
    this.#gauge = gauge;
  }

  /** Replaces the series of an extension. */
  set(extension: string, series: Labels[]): void {
    for (const before of this.#series.get(extension) ?? []) this.#gauge.remove(before);
    for (const labels of series) this.#gauge.set(1, labels);
    if (series.length > 0) this.#series.set(extension, series);
    else this.#series.delete(extension);
  }
}
