import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import type { CounterMetric, GaugeMetric, HistogramMetric, Labels, Metrics } from "../../telemetry/metrics.ts";
import { compareVersionRelease, formatVersionRelease, parseVersionRelease, type VersionRelease } from "../../version/version.ts";
import { hasSpec } from "./extensionSpec.ts";

/** What is known of extensions, as metrics; series of an extension that is gone go too. */
export class ExtensionMetrics {
  readonly #info: SeriesOf;
  readonly #conditions: SeriesOf;
  readonly #updates: SeriesOf;
  readonly #corrections: CounterMetric;
  readonly #steps: HistogramMetric;

  constructor(metrics: Metrics) {
    this.#info = new SeriesOf(
      metrics.gauge({
        name: "extension_info",
        help: "1 for each ClusterExtension, with its installed bundle; bundle and version are empty if none is installed",
        labels: ["extension", "package", "bundle", "version"],
      }),
    );
    this.#conditions = new SeriesOf(
      metrics.gauge({
        name: "extension_condition",
        help: "1 for the current status (True, False or Unknown) of each condition of a ClusterExtension",
        labels: ["extension", "condition", "status"],
      }),
    );
    this.#updates = new SeriesOf(
      metrics.gauge({
        name: "extension_update_available",
        help: "1 for each ClusterExtension whose package has a higher version in its catalog, with that version",
        labels: ["extension", "installed", "version"],
      }),
    );
    this.#corrections = metrics.counter({
      name: "drift_corrections_total",
      help: "Objects that the controller restored after they were deleted or changed",
      labels: ["extension"],
    });
    this.#steps = metrics.histogram({
      name: "step_duration_seconds",
      help: "Duration of each step of a reconcile of a ClusterExtension, such as ResolveBundle or ApplyBundle",
      labels: ["step", "result"],
    });
  }

  /**
   * Shows an extension with the status it has after a pass.
   * @param newest highest version of the package that was seen; what was shown stays where none was looked for.
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

  /** Without an answer from a catalog what it said before is shown, as long as that is what is installed. */
  #reportUpdate(
    extension: string,
    { version, release }: { version: string; release?: string | undefined },
    newest: VersionRelease | undefined,
  ): void {
    if (!newest) return;
    const isNewer = isHigher(newest, version, release);
    this.#updates.set(extension, isNewer ? [{ extension, installed: version, version: formatVersionRelease(newest) }] : []);
  }

  /** Counts objects of an extension that were put back. */
  corrected(extension: string, objects: number): void {
    this.#corrections.inc({ extension }, objects);
  }

  /** Takes an extension out that does not exist any more. */
  forget(extension: string): void {
    this.#info.set(extension, []);
    this.#conditions.set(extension, []);
    this.#updates.set(extension, []);
    this.#corrections.remove({ extension });
  }

  /** Shows how long a step took, in seconds, and whether it failed. */
  stepped(step: string, seconds: number, hasFailed: boolean): void {
    this.#steps.observe(seconds, { step, result: hasFailed ? "error" : "success" });
  }
}

/** False where the installed version cannot be read. */
function isHigher(newest: VersionRelease, version: string, release: string | undefined): boolean {
  try {
    return compareVersionRelease(newest, parseVersionRelease(version, release)) > 0;
  } catch {
    return false;
  }
}

/** The series of one gauge by the extension that they are about. */
class SeriesOf {
  readonly #gauge: GaugeMetric;
  readonly #shown = new Map<string, Labels[]>();

  constructor(gauge: GaugeMetric) {
    this.#gauge = gauge;
  }

  /** Puts these series in place of those there were. */
  set(extension: string, series: Labels[]): void {
    for (const before of this.#shown.get(extension) ?? []) this.#gauge.remove(before);
    for (const labels of series) this.#gauge.set(1, labels);
    if (series.length > 0) this.#shown.set(extension, series);
    else this.#shown.delete(extension);
  }
}
