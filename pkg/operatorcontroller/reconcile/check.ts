import { ANNOTATION_PROPERTIES, Reason } from "../../api/constants.ts";
import { newProblem } from "../../api/problems.ts";
import { type BundleSummary, findBundleFlaws } from "../../bundle/bundleSummary.ts";
import { explainLegacyCrds } from "../../bundle/legacyCrds.ts";
import {
  findClusterVersionConflict,
  formatClusterVersionConflict,
  formatClusterVersionWarning,
  type MaxVersion,
  parseMaxVersion,
} from "../../bundle/maxOpenShiftVersion.ts";
import { parseRawProperties } from "../../bundle/properties.ts";
import { type BundleRequirements, findUnmetRequirements } from "../../bundle/requirements.ts";
import { fail, stop } from "../../controller/stepSequence.ts";
import { getErrorMessage, RetryableError, TerminalError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { findLastDeployed } from "../../release/record.ts";
import { formatList } from "../../text/lists.ts";
import { combineUnblockChecks, WaitingError } from "../state/conditionPoller.ts";
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
import { describeProxyMismatch } from "../state/proxyVariables.ts";
import type { Services } from "./services.ts";

/**
 * Ends the reconcile of an extension without spec, which older CustomResourceDefinitions allowed, before another step
 * reads it.
 */
export const requireSpec: ReconcileStep<Started> = {
  name: "RequireSpec",
  run(phase) {
    if (hasSpec(phase.extension)) return Promise.resolve(phase);
    const text = "spec is missing: set spec.namespace, spec.serviceAccount and spec.source, or delete the ClusterExtension";
    return Promise.reject(new TerminalError(Reason.Blocked, text, { problems: [newProblem("InvalidSpec", { message: text })] }));
  },
};

/** Ends the reconcile of a suspended extension and stops its watches. Everything is compared again when it resumes. */
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

/** Checks that the controller can act as the extension's ServiceAccount before later steps need it. */
export function validate({ identities, managed }: Pick<Services, "identities" | "managed">): ReconcileStep<Observed, Authenticated> {
  return {
    name: "Validate",
    async run(phase, { signal }) {
      const { extension, hidden, releases } = phase;
      const isWithoutAccount = managed.covers(extension) && !managed.findAccount(extension);
      try {
        const own = await identities.clientFor(extension, signal);
        const hides = extension.spec.config?.valuesFrom !== undefined || !hidden.isEmpty;
        const client = hides ? own.withTextFilter((text) => hidden.hide(text)) : own;
        return { ...phase, phase: "authenticated", client, changes: {}, ...(isWithoutAccount ? { isWithoutAccount } : {}) };
      } catch (err) {
        releases.unknownBecause = getErrorMessage(err);
        return fail(phase, err);
      }
    },
  };
}

/**
 * Reports mistakes in a bundle that do not prevent its installation: its metadata contradicts the catalog, or is
 * inconsistent. Adds a problem while the bundle is installed, and records one Event.
 */
export function checkBundle({ events, memory }: Pick<Services, "events" | "memory">): ReconcileStep<Unpacked> {
  return {
    name: "CheckBundle",
    run(unpacked) {
      const { extension, bundle, content, releases, report } = unpacked;
      if (keepsEarlierRelease(unpacked)) return Promise.resolve(unpacked);
      const flaws = content ? findBundleFlaws(content, bundle) : (findLastDeployed(releases.history.current)?.flaws ?? []);
      const phase: Unpacked = { ...unpacked, flaws };
      const entry = memory.of(extension);
      if (flaws.length === 0) {
        delete entry.reported.flaws;
        return Promise.resolve(phase);
      }
      const warning = `bundle ${goQuote(bundle.name)} has mistakes that its author must fix: ${flaws.join("; ")}`;
      report.problems.push(newProblem("BundleWarning", { message: warning }));
      if (entry.reported.flaws !== warning) events.record(extension, "Warning", "BundleWarning", warning);
      entry.reported.flaws = warning;
      return Promise.resolve(phase);
    },
  };
}

/** Maximum number of findings in a message. CRDs with the same mistake count as one finding. */
const MAX_LEGACY_CRDS = 3;

/**
 * Rejects a bundle with CRDs that API servers no longer accept.
 * @param name name of the bundle in its catalog.
 * @throws TerminalError Blocked that lists each CRD and the change that its author must make.
 */
export function requireCurrentCrds(name: string, bundle: Pick<BundleSummary, "legacyCrds">): void {
  const faults = explainLegacyCrds(bundle);
  if (faults.length === 0) return;
  const more = faults.length > MAX_LEGACY_CRDS ? [`${faults.length - MAX_LEGACY_CRDS} more (run olmv1 bundle validate to list them)`] : [];
  const findings = [...faults.slice(0, MAX_LEGACY_CRDS), ...more].join("; ");
  const message = `bundle ${goQuote(name)} cannot be applied: ${findings}`;
  const next = "choose another version with spec.source.catalog.version";
  throw new TerminalError(Reason.Blocked, message, { problems: [newProblem("BundleInvalid", { message, next })] });
}

/**
 * Compares the maximum OpenShift version in the bundle itself with the cluster version, because a catalog may omit the
 * maximum:
 *
 * | clusterVersionPolicy | the bundle               | if the cluster's version is too high             |
 * | Enforce              | is not the installed one | rejected; the controller keeps the installed one |
 * | Enforce              | is the installed one     | kept, with a problem                             |
 * | Warn                 | any                      | accepted, with a problem                         |
 */
export const checkClusterVersion: ReconcileStep<Unpacked> = {
  name: "CheckClusterVersion",
  run(phase) {
    const { bundle, extension, clusterVersion, report } = phase;
    if (keepsEarlierRelease(phase)) return Promise.resolve(phase);
    const conflict = findClusterVersionConflict(readMaxVersion(phase), clusterVersion);
    if (!conflict) return Promise.resolve(phase);
    if (extension.spec.source.catalog?.clusterVersionPolicy === "Enforce" && !isInstalled(phase)) {
      const message = `bundle ${goQuote(bundle.name)} is not installed: ${formatClusterVersionConflict(conflict)} (according to its ClusterServiceVersion, not the catalog)`;
      const next = "exclude the version with spec.source.catalog.version, or set clusterVersionPolicy to Warn";
      const problems = [newProblem("ClusterVersionNotSupported", { severity: "Error", message, next })];
      return Promise.reject(new RetryableError(Reason.Retrying, message, { problems }));
    }
    const message = formatClusterVersionWarning(bundle.name, conflict);
    if (conflict.kind !== "unknown") report.problems.push(newProblem("ClusterVersionNotSupported", { message }));
    return Promise.resolve(phase);
  },
};

/**
 * Returns the maximum in the bundle's own annotation, or in the release's annotation if the installed bundle was not
 * pulled.
 */
function readMaxVersion({ content, releases }: WithContent): MaxVersion {
  const annotations = content ? content.annotations : findLastDeployed(releases.history.current)?.annotations;
  const properties = annotations?.[ANNOTATION_PROPERTIES];
  if (properties === undefined) return { kind: "none" };
  try {
    return parseMaxVersion(parseRawProperties(properties));
  } catch (err) {
    return { kind: "invalid", errors: [getErrorMessage(err)] };
  }
}

/** Maximum number of unmet requirements in a message. */
const MAX_UNMET = 20;

/**
 * Compares the requirements of the bundle with the version and the APIs of the API server:
 *
 * | requirements | the bundle               | if some are not met                                       |
 * | Enforce      | is not the installed one | waits until they are met, and keeps the installed bundle  |
 * | Enforce      | is the installed one     | kept, with a problem until they are met                   |
 * | Warn         | any                      | accepted, with a problem until they are met, and an Event |
 *
 * If the API server does not respond, only an extension whose bundle could be rejected waits.
 */
export function checkRequirements({
  apis,
  events,
  memory,
  plans,
}: Pick<Services, "apis" | "events" | "memory"> & {
  plans: Pick<Services["plans"], "listPartners" | "listWaiting">;
}): ReconcileStep<Unpacked> {
  return {
    name: "CheckRequirements",
    async run(phase, { signal, log }) {
      const { extension, bundle, report } = phase;
      const entry = memory.of(extension);
      if (keepsEarlierRelease(phase)) return phase;
      const requirements = readRequirements(phase);
      // Bundles of the plan may provide the required APIs: those of earlier waves, and those of the same wave, which may require each other's APIs.
      const { name } = extension.metadata;
      const awaitsPlan = plans.listWaiting(name).length + plans.listPartners(name).length > 0;
      const isEnforced = extension.spec.install?.requirements === "Enforce" && !isInstalled(phase) && !awaitsPlan;
      let unmet: readonly string[];
      try {
        unmet = requirements ? await listUnmet(requirements, apis) : [];
      } catch (err) {
        signal.throwIfAborted();
        const text = `cannot compare the requirements of bundle ${goQuote(bundle.name)} with the cluster: ${getErrorMessage(err)}`;
        if (isEnforced) throw new RetryableError(Reason.Retrying, text, { cause: err });
        log.warn({ bundle: bundle.name, reason: getErrorMessage(err) }, "requirements of bundle not checked");
        return phase;
      }
      if (!requirements || unmet.length === 0) {
        delete entry.reported.requirements;
        return phase;
      }
      const isOver = async (): Promise<boolean> => formatUnmet(await listUnmet(requirements, apis)) !== missing;
      const missing = formatUnmet(unmet);
      if (isEnforced) {
        const message = `bundle ${goQuote(bundle.name)} is not installed: the cluster does not meet its requirements: ${missing}`;
        const next = "install the missing APIs or upgrade the cluster, or set spec.install.requirements to Warn";
        const problems = [newProblem("RequirementsNotMet", { message, next, details: unmet.slice(0, MAX_UNMET) })];
        throw new WaitingError(Reason.RequirementsNotMet, message, { isOver, problems });
      }
      const warning = `bundle ${goQuote(bundle.name)} may not work: the cluster does not meet its requirements: ${missing}`;
      report.problems.push(newProblem("RequirementsNotMet", { severity: "Warning", message: warning, details: unmet.slice(0, MAX_UNMET) }));
      if (entry.reported.requirements !== warning) events.record(extension, "Warning", "RequirementsNotMet", warning);
      entry.reported.requirements = warning;
      report.awaits = combineUnblockChecks(report.awaits, isOver);
      return phase;
    },
  };
}

/** Returns requirements that are currently not met. Requests only what they need. @throws as `ClusterApis` does. */
async function listUnmet(requirements: BundleRequirements, apis: Services["apis"]): Promise<string[]> {
  const { minKubeVersion, ...kinds } = requirements;
  const [served, kubeVersion] = await Promise.all([
    Object.keys(kinds).length > 0 ? apis.resources() : [],
    minKubeVersion === undefined ? "" : apis.version(),
  ]);
  return findUnmetRequirements(requirements, { served, kubeVersion });
}

/** Returns the requirements of the bundle, or those recorded in the release if the installed bundle was not pulled. */
function readRequirements({ content, releases }: WithContent): BundleRequirements | undefined {
  return content ? content.requirements : findLastDeployed(releases.history.current)?.requirements;
}

function formatUnmet(unmet: readonly string[]): string {
  return formatList(unmet, { max: MAX_UNMET, rest: (more) => `and ${more} more` });
}

/** Reports Deployments whose proxy variables differ from the proxy of the cluster. */
export const reportProxy: ReconcileStep<Unpacked> = {
  name: "ReportProxy",
  run(phase) {
    const note = keepsEarlierRelease(phase) ? undefined : describeProxyMismatch(phase);
    if (note !== undefined) phase.report.problems.push(newProblem("ProxyWarning", { message: note }));
    return Promise.resolve(phase);
  },
};
