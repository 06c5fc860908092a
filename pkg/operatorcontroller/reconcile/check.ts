import { ANNOTATION_PROPERTIES, Reason } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
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
import type { Step } from "../../controller/reconcile.ts";
import { messageOf, RetryableError, TerminalError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { lastDeployed } from "../../release/record.ts";
import type { ClusterApis } from "../dependencies/clusterApis.ts";
import type { Identities } from "../permissions/identity.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { proxyNote } from "../state/proxyVariables.ts";
import { hasSpec, type ReconcileState } from "../state/reconcileState.ts";
import { either, WaitingError } from "../state/waiting.ts";
import type { ObjectWatches } from "../watches/objectWatches.ts";

/** Stops a pass over an extension without spec, which older definitions let in, before any other step reads it. */
export const requireSpec: Step<ReconcileState["extension"], ReconcileState> = {
  name: "RequireSpec",
  run(facts) {
    if (hasSpec(facts.extension)) return Promise.resolve(undefined);
    const text = "spec is missing: set spec.namespace, spec.serviceAccount and spec.source, or delete the ClusterExtension";
    return Promise.reject(new TerminalError(Reason.Blocked, text));
  },
};

/** Ends the pass over a suspended extension. Nothing of it is watched either: once it resumes, everything is compared. */
export function skipSuspended(watches: readonly Pick<ObjectWatches, "forget">[]): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "SkipSuspended",
    run(facts) {
      const { metadata, spec } = facts.extension;
      if (!spec.suspend) return Promise.resolve(undefined);
      facts.isSuspended = true;
      for (const one of watches) one.forget(metadata.name);
      return Promise.resolve({});
    },
  };
}

/** Makes sure that the pass can act as the extension's ServiceAccount before it looks for anything to do. */
export function validate(identities: Pick<Identities, "clientFor">): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "Validate",
    async run(facts, { signal }) {
      try {
        const { extension, hidden } = facts;
        const client = await identities.clientFor(extension, signal);
        const hides = extension.spec.config?.valuesFrom !== undefined || !hidden.isEmpty;
        facts.scoped = hides ? client.telling((text) => hidden.hide(text)) : client;
      } catch (err) {
        facts.unknownBecause = messageOf(err);
        throw err;
      }
      return undefined;
    },
  };
}

/**
 * Tells what is wrong with a bundle that is installed all the same: its catalog says something else of it, or its author has made a mistake. A note
 * for as long as it is installed, and an Event once.
 */
export function checkBundle(events: EventSink, memory: ExtensionCache): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "CheckBundle",
    run(facts) {
      const { extension, resolved, content, history } = facts;
      if (!resolved || facts.held || facts.pinned) return Promise.resolve(undefined);
      const flaws = content ? bundleFlaws(content, resolved) : (lastDeployed(history.current)?.flaws ?? []);
      facts.flaws = flaws;
      const remembered = memory.of(extension);
      if (flaws.length === 0) {
        delete remembered.flawed;
        return Promise.resolve(undefined);
      }
      const warning = `bundle ${goQuote(resolved.name)} has mistakes for its author to correct: ${flaws.join(", and ")}`;
      facts.notes.push(warning);
      if (remembered.flawed !== warning) events.record(extension, "Warning", "FlawedBundle", warning);
      remembered.flawed = warning;
      return Promise.resolve(undefined);
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
  const text = `bundle ${goQuote(name)} cannot be applied: ${told}; nothing was changed, and another version can be chosen with spec.source.catalog.version`;
  throw new TerminalError(Reason.Blocked, text);
}

/**
 * Compares the maximum that the bundle itself states with the cluster's version, since a catalog need not repeat it:
 *
 * | clusterVersionPolicy | the bundle               | it does not fit the cluster                   |
 * | Enforce              | is not the installed one | refused; what is installed is kept as it is   |
 * | Enforce              | is the installed one     | stays, with a note                            |
 * | Warn                 | any                      | taken, with a note                            |
 */
export const checkClusterVersion: Step<ReconcileState["extension"], ReconcileState> = {
  name: "CheckClusterVersion",
  run(facts) {
    const { resolved, extension, clusterVersion, notes } = facts;
    if (facts.held || facts.pinned) return Promise.resolve(undefined); // what is gone back to was on this cluster before
    const conflict = resolved && findClusterVersionConflict(statedMax(facts), clusterVersion);
    if (!conflict) return Promise.resolve(undefined);
    if (extension.spec.source.catalog?.clusterVersionPolicy === "Enforce" && !isInstalled(facts)) {
      const text = `bundle ${goQuote(resolved.name)} is not installed: ${formatClusterVersionConflict(conflict)}, as its ClusterServiceVersion says and the catalog does not; clusterVersionPolicy Warn would install it, and a version range can leave it out`;
      return Promise.reject(new RetryableError(Reason.Retrying, text));
    }
    const warning = formatClusterVersionWarning(resolved.name, conflict);
    if (conflict.kind !== "unknown" && !notes.includes(warning)) notes.push(warning);
    return Promise.resolve(undefined);
  },
};

/** What the bundle's own annotation states; that of the release where the bundle was not fetched, since it is installed already. */
function statedMax({ content, history }: ReconcileState): MaxVersion {
  const annotations = content ? content.annotations : lastDeployed(history.current)?.annotations;
  const properties = annotations?.[ANNOTATION_PROPERTIES];
  if (properties === undefined) return { kind: "none" };
  try {
    return maxVersionIn(rawProperties(properties));
  } catch (err) {
    return { kind: "invalid", errors: [messageOf(err)] };
  }
}

/** Whether the pass works towards the very bundle that is installed. */
export function isInstalled({ resolved, installed }: ReconcileState): boolean {
  return installed !== undefined && installed.name === resolved?.name && installed.version === resolved.version;
}

/** What the check needs from the outside. */
export interface RequirementDependencies {
  apis: Pick<ClusterApis, "resources" | "version">;
  events: EventSink;
  memory: ExtensionCache;
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
export function checkRequirements({ apis, events, memory }: RequirementDependencies): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "CheckRequirements",
    async run(facts, { signal, log }) {
      const { extension, resolved } = facts;
      const remembered = memory.of(extension);
      if (!resolved || facts.held || facts.pinned) return undefined; // what is gone back to was on this cluster before
      const requirements = requirementsIn(facts);
      const isRefusal = extension.spec.install?.requirements === "Enforce" && !isInstalled(facts);
      let unmet: readonly string[];
      try {
        unmet = requirements ? await unmetNow(requirements, apis) : [];
      } catch (err) {
        signal.throwIfAborted();
        const text = `what bundle ${goQuote(resolved.name)} requires cannot be compared with what this cluster serves: ${messageOf(err)}`;
        if (isRefusal) throw new RetryableError(Reason.Retrying, text, { cause: err });
        log.warn({ bundle: resolved.name, reason: messageOf(err) }, "requirements of bundle not checked");
        return undefined;
      }
      if (!requirements || unmet.length === 0) {
        delete remembered.unmet;
        return undefined;
      }
      const isOver = async (): Promise<boolean> => formatUnmet(await unmetNow(requirements, apis)) !== told;
      const told = formatUnmet(unmet);
      if (isRefusal) {
        const text = `bundle ${goQuote(resolved.name)} is not installed, since its requirements are not met: ${told}; nothing was changed, and it goes on by itself within seconds once they are; spec.install.requirements Warn would install it`;
        throw new WaitingError(Reason.RequirementsNotMet, text, { isOver });
      }
      const warning = `bundle ${goQuote(resolved.name)} may not work on this cluster, since its requirements are not met: ${told}`;
      facts.notes.push(warning);
      if (remembered.unmet !== warning) events.record(extension, "Warning", "RequirementsNotMet", warning);
      remembered.unmet = warning;
      facts.awaits = either(facts.awaits, isOver);
      return undefined;
    },
  };
}

/** Asks what is not met by now, and only for what is required. @throws as `ClusterApis` does. */
async function unmetNow(requirements: BundleRequirements, apis: RequirementDependencies["apis"]): Promise<string[]> {
  const { minKubeVersion, ...kinds } = requirements;
  const [served, kubeVersion] = await Promise.all([
    Object.keys(kinds).length > 0 ? apis.resources() : [],
    minKubeVersion === undefined ? "" : apis.version(),
  ]);
  return unmetRequirements(requirements, { served, kubeVersion });
}

/** Those of the bundle; those of the release where it was not fetched, since it is installed already. */
function requirementsIn({ content, history }: ReconcileState): BundleRequirements | undefined {
  return content ? content.requirements : lastDeployed(history.current)?.requirements;
}

function formatUnmet(unmet: readonly string[]): string {
  const more = unmet.length - MAX_UNMET;
  return [...unmet.slice(0, MAX_UNMET), ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}

/** Reports where Deployments differ from the proxy of the cluster. */
export const reportProxy: Step<ReconcileState["extension"], ReconcileState> = {
  name: "ReportProxy",
  run(facts) {
    const note = facts.held || facts.pinned || !facts.resolved ? undefined : proxyNote(facts);
    if (note !== undefined) facts.notes.push(note);
    return Promise.resolve(undefined);
  },
};
