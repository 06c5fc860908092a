import { truncate } from "../text/truncate.ts";
import { goQuote } from "../golang/quote.ts";
import { canonicalJson } from "../golang/json.ts";
import type { FbcBundle } from "../fbc/types.ts";
import type { ClusterVersion } from "../gate/clusterVersion.ts";
import { MAX_OPENSHIFT_VERSION, type MaxVersion, maxVersionIn } from "../gate/maxVersion.ts";
import { isBelow, type MinorVersion, minorText } from "../gate/minorVersion.ts";

/** What speaks against a bundle on a cluster, by the maximum that it states. */
export type ClusterObjection =
  /** The cluster is beyond the maximum already. */
  | { readonly kind: "below"; readonly max: MinorVersion; readonly cluster: MinorVersion }
  /** The maximum cannot be read. */
  | { readonly kind: "invalid"; readonly errors: readonly string[] }
  /** The cluster's version is not known, so the maximum cannot be compared. */
  | { readonly kind: "unknown"; readonly max: MinorVersion; readonly because: string };

/** Longest reason that is told, in characters; it may quote what a catalog says. */
const MAX_REASON = 300;

/** The maximum that a catalog states for `bundle`. */
export function maxVersionOf({ properties }: FbcBundle): MaxVersion {
  const stated = properties.filter(({ type }) => type === MAX_OPENSHIFT_VERSION);
  return maxVersionIn(stated.map(({ type, value }) => ({ type, value: value === undefined ? "" : canonicalJson(value) })));
}

/** What speaks against a bundle of that maximum on `cluster`; nothing where there is no maximum, or no OpenShift cluster to compare with. */
export function objectionTo(max: MaxVersion, cluster: ClusterVersion): ClusterObjection | undefined {
  if (max.kind === "none" || cluster.kind === "none") return undefined;
  if (max.kind === "invalid") return { kind: "invalid", errors: max.errors };
  if (cluster.kind === "unknown") return { kind: "unknown", max: max.max, because: cluster.because };
  return isBelow(max.max, cluster.minor) ? { kind: "below", max: max.max, cluster: cluster.minor } : undefined;
}

/** Such as `its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18`; at most some hundred characters. */
export function objectionText(objection: ClusterObjection): string {
  const its = `its ${MAX_OPENSHIFT_VERSION}`;
  if (objection.kind === "invalid") return `${its} cannot be read (${reason(objection.errors.join(", "))})`;
  const max = minorText(objection.max);
  if (objection.kind === "below") return `${its} ${max} is below the cluster's ${minorText(objection.cluster)}`;
  return `${its} ${max} cannot be compared, since the cluster's version is not known (${reason(objection.because)})`;
}

/** One sentence that warns of a bundle which may not work on the cluster. */
export function objectionWarning(bundle: string, objection: ClusterObjection): string {
  return `bundle ${goQuote(bundle)} may not work on this cluster: ${objectionText(objection)}`;
}

function reason(text: string): string {
  return truncate(text.replaceAll("\n", ", "), MAX_REASON);
}
