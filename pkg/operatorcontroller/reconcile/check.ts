import { ANNOTATION_PROPERTIES, Reason } from "../../api/constants.ts";
import { newProblem } from "../../api/problems.ts";
import { type BundleSummary, bundleFlaws } from "../../bundle/bundleSummary.ts";
import { legacyCrdFaults } from "../../bundle/legacyCrds.ts";
import {
  findClusterVersionConflict,
  formatClusterVersionConflict,
  formatClusterVersionWarning,
  type MaxVersion,
  maxVersionIn,
} from "../../bundle/maxOpenShiftVersion.ts";
import { rawProperties } from "../../bundle/properties.ts";
import { type BundleRequirements, unmetRequirements } from "../../bundle/requirements.ts";
import { fail, stop } from "../../controller/story.ts";
import { messageOf, RetryableError, TerminalError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { lastDeployed } from "../../release/record.ts";
import { formatList } from "../../text/lists.ts";
import { hasSpec } from "../state/extensionSpec.ts";
import {
  type Authenticated,
  isInstalled,
  keepsEarlierRelease,
  type Observed,
  type ReconcileStep,
  type Started,
  type Unpacked,
  type WithContent,
} from "../state/phases.ts";
import { proxyNote } from "../state/proxyVariables.ts";
import { either, WaitingError } from "../state/waiting.ts";
import type { Services } from "./services.ts";

/** Stops a pass over an extension without spec, which older definitions let in, before any other step reads it. */
export const requireSpec: ReconcileStep<Started> = {
  name: "RequireSpec",
  run(phase) {
    if (hasSpec(phase.extension)) return Promise.resolve(phase);
    const text = "spec is missing: set spec.namespace, spec.serviceAccount and spec.source, or delete the ClusterExtension";
    return Promise.reject(new TerminalError(Reason.Blocked, text, { problems: [newProblem("InvalidSpec", { message: text })] }));
  },
};

/** Ends the pass over a suspended extension. Nothing of it is watched either: once it resumes, everything is compared. */
export function skipSuspended({ watches, sources }: Pick<Services, "watches" | "sources">): ReconcileStep<Observed> {
  return {
    name: "SkipSuspended",
    run(phase) {
      const { metadata, spec } = phase.extension;
      if (!spec.suspend) return Promise.resolve(phase);
      watches?.forget(metadata.name);
      sources.forget(metadata.name);
      return Promise.resolve(stop({ ...phase, phase: "suspended" }));
    },
  };
}

/** Makes sure that the pass can act as the extension's ServiceAccount before it looks for anything to do. */
export function validate({ identities }: Pick<Services, "identities">): ReconcileStep<Observed, Authenticated> {
  return {
    name: "Validate",
    async run(phase, { signal }) {
      const { extension, hidden, releases } = phase;
      try {
        const own = await identities.clientFor(extension, signal);
        const hides = extension.spec.config?.valuesFrom !== undefined || !hidden.isEmpty;
        const client = hides ? own.telling((text) => hidden.hide(text)) : own;
        return { ...phase, phase: "authenticated", client, changes: {} };
      } catch (err) {
        releases.unknownBecause = messageOf(err);
        return fail(phase, err);
      }
    },
  };
}

/**
 * Tells what is wrong with a bundle that is installed all the same: its catalog says something else of it, or its author has made a mistake. A note
 * for as long as it is installed, and an Event once.
 */
export function checkBundle({ events, memory }: Pick<Services, "events" | "memory">): ReconcileStep<Unpacked> {
  return {
    name: "CheckBundle",
    run(unpacked) {
      const { extension, bundle, content, releases, report } = unpacked;
      if (keepsEarlierRelease(unpacked)) return Promise.resolve(unpacked);
      const flaws = content ? bundleFlaws(content, bundle) : (lastDeployed(releases.history.current)?.flaws ?? []);
      const phase: Unpacked = { ...unpacked, flaws };
      const remembered = memory.of(extension);
      if (flaws.length === 0) {
        delete remembered.flawed;
        return Promise.resolve(phase);
      }
      const warning = `bundle ${goQuote(bundle.name)} has mistakes for its author to correct: ${flaws.join(", and ")}`;
      report.problems.push(newProblem("BundleWarning", { message: warning }));
      if (remembered.flawed !== warning) events.record(extension, "Warning", "FlawedBundle", warning);
      remembered.flawed = warning;
      return Promise.resolve(phase);
    },
  };
}

/** Definitions that need the same are one finding. */
const MAX_LEGACY_CRDS = 3;

/**
 * Refuses a bundle for definitions that no API server takes any more.
 * @param name the bundle's, as its catalog has it.
 * @throws TerminalError Blocked that names each of them and what its author has to do.
 */
export function requireCurrentCrds(name: string, bundle: Pick<BundleSummary, "legacyCrds">): void {
  const faults = legacyCrdFaults(bundle);
  if (faults.length === 0) return;
  const more =
    faults.length > MAX_LEGACY_CRDS ? [`${faults.length - MAX_LEGACY_CRDS} more such findings, which olmv1 bundle validate tells`] : [];
  const told = [...faults.slice(0, MAX_LEGACY_CRDS), ...more].join(", and ");
  const message = `bundle ${goQuote(name)} cannot be applied: ${told}`;
  const next = "choose another version with spec.source.catalog.version";
  throw new TerminalError(Reason.Blocked, message, { problems: [newProblem("BundleInvalid", { message, next })] });
}

/**
 * Compares the maximum that the bundle itself states with the cluster's version, since a catalog need not repeat it:
 *
 * | clusterVersionPolicy | the bundle               | it does not fit the cluster                   |
 * | Enforce              | is not the installed one | refused; what is installed is kept as it is   |
 * | Enforce              | is the installed one     | stays, with a note                            |
 * | Warn                 | any                      | taken, with a note                            |
 */
export const checkClusterVersion: ReconcileStep<Unpacked> = {
  name: "CheckClusterVersion",
  run(phase) {
    const { bundle, extension, clusterVersion, report } = phase;
    if (keepsEarlierRelease(phase)) return Promise.resolve(phase);
    const conflict = findClusterVersionConflict(statedMax(phase), clusterVersion);
    if (!conflict) return Promise.resolve(phase);
    if (extension.spec.source.catalog?.clusterVersionPolicy === "Enforce" && !isInstalled(phase)) {
      const message = `bundle ${goQuote(bundle.name)} is not installed: ${formatClusterVersionConflict(conflict)}, as its ClusterServiceVersion says and the catalog does not`;
      const next = "exclude the version with spec.source.catalog.version, or set clusterVersionPolicy to Warn";
      const problems = [newProblem("ClusterVersionNotSupported", { severity: "Error", message, next })];
      return Promise.reject(new RetryableError(Reason.Retrying, message, { problems }));
    }
    const message = formatClusterVersionWarning(bundle.name, conflict);
    if (conflict.kind !== "unknown") report.problems.push(newProblem("ClusterVersionNotSupported", { message }));
    return Promise.resolve(phase);
  },
};

/** What the bundle's own annotation states; that of the release where the bundle was not fetched, since it is installed already. */
function statedMax({ content, releases }: WithContent): MaxVersion {
  const annotations = content ? content.annotations : lastDeployed(releases.history.current)?.annotations;
  const properties = annotations?.[ANNOTATION_PROPERTIES];
  if (properties === undefined) return { kind: "none" };
  try {
    return maxVersionIn(rawProperties(properties));
  } catch (err) {
    return { kind: "invalid", errors: [messageOf(err)] };
  }
}

/** Findings that are told, of all that there are. */
const MAX_UNMET = 20;

/**
 * Compares what the bundle requires of the cluster with what the API server is and serves:
 *
 * | requirements | the bundle               | some are not met                                                  |
 * | Enforce      | is not the installed one | refused until they are; what is installed is kept as it is        |
 * | Enforce      | is the installed one     | stays, with a note until they are                                 |
 * | Warn         | any                      | taken, with a note until they are, and an Event once              |
 *
 * Where the cluster cannot be asked, only what would be refused waits.
 */
export function checkRequirements({ apis, events, memory }: Pick<Services, "apis" | "events" | "memory">): ReconcileStep<Unpacked> {
  return {
    name: "CheckRequirements",
    async run(phase, { signal, log }) {
      const { extension, bundle, report } = phase;
      const remembered = memory.of(extension);
      if (keepsEarlierRelease(phase)) return phase;
      const requirements = requirementsIn(phase);
      const isRefusal = extension.spec.install?.requirements === "Enforce" && !isInstalled(phase);
      let unmet: readonly string[];
      try {
        unmet = requirements ? await unmetNow(requirements, apis) : [];
      } catch (err) {
        signal.throwIfAborted();
        const text = `what bundle ${goQuote(bundle.name)} requires cannot be compared with what this cluster serves: ${messageOf(err)}`;
        if (isRefusal) throw new RetryableError(Reason.Retrying, text, { cause: err });
        log.warn({ bundle: bundle.name, reason: messageOf(err) }, "requirements of bundle not checked");
        return phase;
      }
      if (!requirements || unmet.length === 0) {
        delete remembered.unmet;
        return phase;
      }
      const isOver = async (): Promise<boolean> => formatUnmet(await unmetNow(requirements, apis)) !== told;
      const told = formatUnmet(unmet);
      if (isRefusal) {
        const message = `bundle ${goQuote(bundle.name)} is not installed: the cluster does not meet its requirements: ${told}`;
        const next = "install what is missing, or set spec.install.requirements to Warn";
        const problems = [newProblem("RequirementsNotMet", { message, next, details: unmet.slice(0, MAX_UNMET) })];
        throw new WaitingError(Reason.RequirementsNotMet, message, { isOver, problems });
      }
      const warning = `bundle ${goQuote(bundle.name)} may not work: the cluster does not meet its requirements: ${told}`;
      report.problems.push(newProblem("RequirementsNotMet", { severity: "Warning", message: warning, details: unmet.slice(0, MAX_UNMET) }));
      if (remembered.unmet !== warning) events.record(extension, "Warning", "RequirementsNotMet", warning);
      remembered.unmet = warning;
      report.awaits = either(report.awaits, isOver);
      return phase;
    },
  };
}

/** Asks what is not met by now, and only for what is required. @throws as `ClusterApis` does. */
async function unmetNow(requirements: BundleRequirements, apis: Services["apis"]): Promise<string[]> {
  const { minKubeVersion, ...kinds } = requirements;
  const [served, kubeVersion] = await Promise.all([
    Object.keys(kinds).length > 0 ? apis.resources() : [],
    minKubeVersion === undefined ? "" : apis.version(),
  ]);
  return unmetRequirements(requirements, { served, kubeVersion });
}

/** Those of the bundle; those of the release where it was not fetched, since it is installed already. */
function requirementsIn({ content, releases }: WithContent): BundleRequirements | undefined {
  return content ? content.requirements : lastDeployed(releases.history.current)?.requirements;
}

function formatUnmet(unmet: readonly string[]): string {
  return formatList(unmet, { max: MAX_UNMET, rest: (more) => `and ${more} more` });
}

/** Reports where Deployments differ from the proxy of the cluster. */
export const reportProxy: ReconcileStep<Unpacked> = {
  name: "ReportProxy",
  run(phase) {
    const note = keepsEarlierRelease(phase) ? undefined : proxyNote(phase);
    if (note !== undefined) phase.report.problems.push(newProblem("ProxyWarning", { message: note }));
    return Promise.resolve(phase);
  },
};
