import { CAUSE_LENGTH, truncate, NAME_LENGTH } from "../text/truncate.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { ClusterVersion } from "./clusterVersion.ts";
import { type MaxVersion, maxVersionIn } from "./maxVersion.ts";
import { allowsNext, type MinorVersion } from "./minorVersion.ts";
import { parseProperties } from "./properties.ts";

/** One release that counts: the last deployed one of an extension, and every attempt after it. */
export interface ActiveRelease {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  readonly bundle: string;
  readonly version: string;
  /** Annotation `olm.properties`; undefined when there is none. */
  readonly properties: string | undefined;
}

/** The releases of an extension cannot be read, so that nobody knows what is installed. */
export interface UnreadableReleases {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  readonly because: string;
}

/** Why nothing is known of an extension whose status names an installed bundle of which no release exists. */
export function noReleaseText(bundle: string, systemNamespace?: string): string {
  const where = systemNamespace === undefined ? "the system namespace" : `namespace ${goQuote(systemNamespace)}`;
  return `its status says that bundle ${goQuote(bundle)} is installed, and ${where} holds no release of it`;
}

/** What one release means for the cluster's upgrade to its next minor version; bundle and version are empty where the releases cannot be read. */
export type Verdict = { readonly extension: string; readonly bundle: string; readonly version: string } & (
  | { readonly kind: "unlimited" }
  | { readonly kind: "compatible" | "blocked"; readonly max: MinorVersion }
  /** A maximum is stated and the version of the cluster is not known, or there is no OpenShift cluster. */
  | { readonly kind: "undecided"; readonly max: MinorVersion; readonly because: string }
  /** `text` has a line for each thing that is wrong; it names extension and bundle, and is of bounded length. */
  | { readonly kind: "error"; readonly text: string }
);

/**
 * What `release` means for the upgrade of a cluster of that version. What cannot be read is an error, which blocks as well.
 * @see https://github.com/openshift/cluster-olm-operator/blob/main/pkg/controller/incompatible_operator_controller.go checkIncompatibility
 */
export function verdictOn(release: ActiveRelease | UnreadableReleases, cluster: ClusterVersion): Verdict {
  if ("because" in release) {
    const { extension, because } = release;
    const text = `error returning the last deployed release for ${extension}; ${truncate(because, CAUSE_LENGTH)}`;
    return { extension, bundle: "", version: "", kind: "error", text };
  }
  const { extension, bundle, version } = release;
  const about = { extension, bundle, version };
  try {
    return { ...about, ...judged(maxVersionOf(release.properties), cluster, about) };
  } catch (err) {
    const text = `error with cluster extension ${extension}: error in bundle ${truncate(bundle, NAME_LENGTH)}: could not convert olm.properties: failed to unmarshal properties annotation: ${messageOf(err)}`;
    return { ...about, kind: "error", text };
  }
}

function maxVersionOf(annotation: string | undefined): MaxVersion {
  return annotation === undefined ? { kind: "none" } : maxVersionIn(parseProperties(annotation));
}

function judged(max: MaxVersion, cluster: ClusterVersion, { extension, bundle }: { extension: string; bundle: string }) {
  if (max.kind === "none") return { kind: "unlimited" } as const;
  if (max.kind === "invalid") {
    const text = `error(s) with cluster extension ${extension}: error in bundle ${truncate(bundle, NAME_LENGTH)}: ${max.errors.join("\n")}`;
    return { kind: "error", text } as const;
  }
  if (cluster.kind === "known") return { kind: allowsNext(max.max, cluster.minor) ? "compatible" : "blocked", max: max.max } as const;
  const because = cluster.kind === "none" ? "this is no OpenShift cluster" : cluster.because;
  return { kind: "undecided", max: max.max, because } as const;
}
