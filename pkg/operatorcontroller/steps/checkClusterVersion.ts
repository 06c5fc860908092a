import { ANNOTATION_PROPERTIES, Reason } from "../../api/constants.ts";
import { type MaxVersion, maxVersionIn, objectionText, objectionTo, objectionWarning } from "../../bundle/maxOpenShiftVersion.ts";
import { parseProperties } from "../../bundle/rawProperties.ts";
import type { Step } from "../../controller/reconcile.ts";
import { RetryableError, messageOf } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { lastDeployed } from "../../release/record.ts";
import type { PassFacts } from "../facts.ts";

/**
 * Compares the maximum that the bundle itself states with the cluster's version, since a catalog need not repeat it:
 *
 * | clusterVersionPolicy | the bundle               | it does not fit the cluster                   |
 * | Enforce              | is not the installed one | refused; what is installed is kept as it is   |
 * | Enforce              | is the installed one     | stays, with a note                            |
 * | Warn                 | any                      | taken, with a note                            |
 */
export const checkClusterVersion: Step<PassFacts["extension"], PassFacts> = {
  name: "CheckClusterVersion",
  run(facts) {
    const { resolved, extension, clusterVersion, notes } = facts;
    if (facts.held || facts.pinned) return Promise.resolve(undefined); // what is gone back to was on this cluster before
    const objection = resolved && objectionTo(statedMax(facts), clusterVersion);
    if (!objection) return Promise.resolve(undefined);
    if (extension.spec.source.catalog?.clusterVersionPolicy === "Enforce" && !isInstalled(facts)) {
      const text = `bundle ${goQuote(resolved.name)} is not installed: ${objectionText(objection)}, as its ClusterServiceVersion says and the catalog does not; clusterVersionPolicy Warn would install it, and a version range can leave it out`;
      return Promise.reject(new RetryableError(Reason.Retrying, text));
    }
    const warning = objectionWarning(resolved.name, objection);
    if (objection.kind !== "unknown" && !notes.includes(warning)) notes.push(warning);
    return Promise.resolve(undefined);
  },
};

/** What the bundle's own annotation states; that of the release where the bundle was not fetched, since it is installed already. */
function statedMax({ content, history }: PassFacts): MaxVersion {
  const annotations = content ? content.annotations : lastDeployed(history.current)?.annotations;
  const properties = annotations?.[ANNOTATION_PROPERTIES];
  if (properties === undefined) return { kind: "none" };
  try {
    return maxVersionIn(parseProperties(properties));
  } catch (err) {
    return { kind: "invalid", errors: [messageOf(err)] };
  }
}

/** Whether the pass works towards the very bundle that is installed. */
export function isInstalled({ resolved, installed }: PassFacts): boolean {
  return installed !== undefined && installed.name === resolved?.name && installed.version === resolved.version;
}
