import { Deadline } from "../../async/clock.ts";
import { waitForAbort } from "../../async/concurrency.ts";
import { type ActiveRelease, assessRelease, type ReleaseVerdict } from "../../openshift/upgradeable.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";

/** Maximum wait for a report. Without permission to write the ClusterOperator, an installation must not wait forever. */
const TIMEOUT_MS = 30_000;

/** Reports whether a release blocks an upgrade of the cluster. */
export function isBlocking({ kind }: ReleaseVerdict, cluster: ClusterVersion): boolean {
  return kind === "blocked" || kind === "error" || (kind === "undecided" && cluster.kind === "unknown");
}

/**
 * Knows which releases ClusterOperator `olm` reports as blocking. An installation waits for the report before it writes the first object, so that no
 * upgrade of the cluster starts in between.
 */
export class BlockReports {
  readonly #log: Logger;
  /** Keys of the reported releases; "none" if this program does not write the ClusterOperator; undefined before the first evaluation. */
  #reported: ReadonlySet<string> | "none" | undefined;
  #next = Promise.withResolvers<void>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Sets the releases that the ClusterOperator reports; undefined if this program does not write it. */
  set(verdicts: readonly ReleaseVerdict[] | undefined, cluster: ClusterVersion): void {
    this.#reported = verdicts ? new Set(verdicts.filter((verdict) => isBlocking(verdict, cluster)).map(getKey)) : "none";
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** Waits until a blocking release is reported, or 30 seconds. Does not wait for other releases. @throws the reason of `signal` if it aborts */
  async wait(release: ActiveRelease, cluster: ClusterVersion, signal: AbortSignal): Promise<void> {
    if (!isBlocking(assessRelease(release, cluster), cluster)) return;
    using deadline = new Deadline(signal, TIMEOUT_MS);
    const ended = waitForAbort(deadline.signal);
    while (this.#reported !== "none" && !this.#reported?.has(getKey(release)) && !deadline.signal.aborted)
      await Promise.race([this.#next.promise, ended]);
    signal.throwIfAborted();
    if (deadline.isOver)
      this.#log.warn(
        { extension: release.extension, bundle: release.bundle },
        "installing a bundle before ClusterOperator olm reports its block",
      );
  }
}

function getKey({ extension, bundle, version }: Pick<ActiveRelease, "extension" | "bundle" | "version">): string {
  return JSON.stringify([extension, bundle, version]);
}
