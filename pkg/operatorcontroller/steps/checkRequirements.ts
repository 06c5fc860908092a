import { Reason } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import { type BundleRequirements, unmetRequirements } from "../../bundle/requirements.ts";
import type { Step } from "../../controller/reconcile.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { lastDeployed } from "../../release/record.ts";
import type { PassFacts } from "../facts.ts";
import type { ExtensionMemory } from "../memory.ts";
import type { ClusterApis } from "../served/clusterApis.ts";
import { either, WaitingError } from "../waiting.ts";
import { isInstalled } from "./checkClusterVersion.ts";

/** What the check needs from the outside. */
export interface RequirementDependencies {
  apis: Pick<ClusterApis, "resources" | "version">;
  events: EventSink;
  memory: ExtensionMemory;
}

/** Findings that are told, of all that there are. */
const MAX_TOLD = 20;

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
export function checkRequirements({ apis, events, memory }: RequirementDependencies): Step<PassFacts["extension"], PassFacts> {
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
      const isOver = async (): Promise<boolean> => toldOf(await unmetNow(requirements, apis)) !== told;
      const told = toldOf(unmet);
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
function requirementsIn({ content, history }: PassFacts): BundleRequirements | undefined {
  return content ? content.requirements : lastDeployed(history.current)?.requirements;
}

function toldOf(unmet: readonly string[]): string {
  const more = unmet.length - MAX_TOLD;
  return [...unmet.slice(0, MAX_TOLD), ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}
