import { boundMessage } from "../api/conditions.ts";
import { ANNOTATION_PROPERTIES, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION, MESSAGE_MAX_BYTES } from "../api/constants.ts";
import { type MaxVersion, parseMaxVersion } from "../bundle/maxOpenShiftVersion.ts";
import { parseRawProperties } from "../bundle/properties.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { compareUtf8 } from "../text/compare.ts";
import { CAUSE_LENGTH, NAME_LENGTH, truncate } from "../text/truncate.ts";
import { type ClusterVersion, formatMinorVersion, getNextMinor, isNextAllowed, type MinorVersion } from "../version/clusterVersion.ts";
import type { NewOperatorCondition } from "./operatorConditions.ts";

/** An active release: the last deployed one of an extension, or a later attempt. */
export interface ActiveRelease {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  readonly bundle: string;
  readonly version: string;
  /** Annotation `olm.properties`; undefined if it does not exist. */
  readonly properties: string | undefined;
}

/** Returns the fields of a stored release that the upgrade check needs. */
export function toActiveRelease(
  extension: string,
  { labels, annotations }: { readonly labels: Record<string, string>; readonly annotations: Record<string, string> },
): ActiveRelease {
  const { [LABEL_BUNDLE_NAME]: bundle = "", [LABEL_BUNDLE_VERSION]: version = "" } = labels;
  return { extension, bundle, version, properties: annotations[ANNOTATION_PROPERTIES] };
}

/** An extension whose releases cannot be read. Its installed bundle is therefore unknown. */
export interface UnreadableReleases {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  readonly reason: string;
}

/**
 * Formats the problem that the status of an extension lists an installed bundle, but no release contains this bundle.
 */
export function formatMissingRelease(bundle: string, systemNamespace?: string): string {
  const place = systemNamespace === undefined ? "the system namespace" : `namespace ${goQuote(systemNamespace)}`;
  return `status.install lists bundle ${goQuote(bundle)}, but ${place} contains no release of this bundle`;
}

/**
 * The effect of one release on an upgrade of the cluster to its next minor version. Bundle and version are empty if the
 * releases cannot be read.
 */
export type ReleaseVerdict = { readonly extension: string; readonly bundle: string; readonly version: string } & (
  | { readonly kind: "unlimited" }
  | { readonly kind: "compatible" | "blocked"; readonly max: MinorVersion }
  /** The release has a maximum, but the version of the cluster is unknown, or it is not an OpenShift cluster. */
  | { readonly kind: "undecided"; readonly max: MinorVersion; readonly reason: string }
  /** `text` has a line for each error, with extension and bundle, and is of bounded length. */
  | { readonly kind: "error"; readonly text: string }
);

/**
 * Returns the effect of `release` on the upgrade of a cluster of this version. Anything that cannot be read is an
 * error, which also blocks.
 * @see
 * https://github.com/openshift/cluster-olm-operator/blob/9983877d/pkg/controller/incompatible_operator_controller.go
 * checkIncompatibility
 */
export function assessRelease(release: ActiveRelease | UnreadableReleases, cluster: ClusterVersion): ReleaseVerdict {
  if ("reason" in release) {
    const { extension, reason } = release;
    const text = `error returning the last deployed release for ${extension}; ${truncate(reason, CAUSE_LENGTH)}`;
    return { extension, bundle: "", version: "", kind: "error", text };
  }
  const { extension, bundle, version } = release;
  const about = { extension, bundle, version };
  try {
    return { ...about, ...compareMaximum(readMaxVersion(release.properties), cluster, about) };
  } catch (err) {
    const text = `error with cluster extension ${extension}: error in bundle ${truncate(bundle, NAME_LENGTH)}: could not convert olm.properties: failed to unmarshal properties annotation: ${getErrorMessage(err)}`;
    return { ...about, kind: "error", text };
  }
}

function readMaxVersion(annotation: string | undefined): MaxVersion {
  return annotation === undefined ? { kind: "none" } : parseMaxVersion(parseRawProperties(annotation));
}

function compareMaximum(max: MaxVersion, cluster: ClusterVersion, { extension, bundle }: { extension: string; bundle: string }) {
  if (max.kind === "none") return { kind: "unlimited" } as const;
  if (max.kind === "invalid") {
    const text = `error(s) with cluster extension ${extension}: error in bundle ${truncate(bundle, NAME_LENGTH)}: ${max.errors.join("\n")}`;
    return { kind: "error", text } as const;
  }
  if (cluster.kind === "known") return { kind: isNextAllowed(max.max, cluster.minor) ? "compatible" : "blocked", max: max.max } as const;
  const because = cluster.kind === "none" ? "not an OpenShift cluster" : cluster.reason;
  return { kind: "undecided", max: max.max, reason: because } as const;
}

/**
 * Joins as many of the first `items` as fit in `bytes` bytes of UTF-8, up to the first item that does not fit. If items
 * are omitted, the text ends with the result of `more`, which is included in the limit.
 */
function joinWithin(items: readonly string[], separator: string, bytes: number, more: (leftOut: number) => string): string {
  const whole = items.join(separator);
  if (Buffer.byteLength(whole) <= bytes) return whole;
  let room = bytes - Buffer.byteLength(separator + more(items.length));
  const kept: string[] = [];
  for (const item of items) {
    room -= Buffer.byteLength(item + separator);
    if (room < 0) break;
    kept.push(item);
  }
  return [...kept, more(items.length - kept.length)].join(separator);
}

/** Operator condition: whether the installed extensions allow an upgrade of the cluster to its next minor version. */
const EXTENSIONS_UPGRADEABLE = "InstalledOLMOperatorsUpgradeable";
/** Operator condition: whether the check failed for some extension. */
const GATE_DEGRADED = "OLMIncompatibleOperatorControllerDegraded";

const ADDITIONALLY = "\n Additionally the following errors were encountered while getting extension metadata: ";

/** Texts about what blocks the upgrade. Their order does not depend on the order of the verdicts. */
interface BlockingReasons {
  /** One text per bundle, in byte order. */
  readonly blocked: readonly string[];
  /** One text per error, sorted by extension. */
  readonly errors: readonly string[];
  /** One next step per extension, sorted by extension. */
  readonly advice: readonly string[];
}

/**
 * Returns the condition `InstalledOLMOperatorsUpgradeable`. Its message is the upstream message, followed by a line
 * with the next step for each extension. If the lines exceed 32768 bytes, the message ends with the number of omitted
 * extensions.
 * @param remedies a clause for each extension, such as `version 1.1.0 of catalog "x" allows the cluster upgrade`.
 * @see
 * https://github.com/openshift/cluster-olm-operator/blob/9983877d/pkg/controller/incompatible_operator_controller.go
 * sync
 */
export function buildUpgradeableCondition(
  verdicts: readonly ReleaseVerdict[],
  cluster: ClusterVersion,
  remedies: ReadonlyMap<string, string> = new Map(),
): NewOperatorCondition {
  const { blocked, errors, advice } = collectReasons(verdicts, cluster, remedies);
  const type = EXTENSIONS_UPGRADEABLE;
  if (blocked.length === 0 && errors.length === 0) return { type, status: "True", reason: "", message: "" };
  const reason = blocked.length > 0 ? "IncompatibleOperatorsInstalled" : "FailureGettingExtensionMetadata";
  return { type, status: "False", reason, message: boundMessage(formatMessage({ blocked, errors, advice }, formatNextMinor(cluster))) };
}

/** Returns the condition `OLMIncompatibleOperatorControllerDegraded`: True if the check failed for some extension. */
export function buildGateDegradedCondition(verdicts: readonly ReleaseVerdict[], cluster: ClusterVersion): NewOperatorCondition {
  const { errors } = collectReasons(verdicts, cluster, new Map());
  const type = GATE_DEGRADED;
  if (errors.length === 0) return { type, status: "False", reason: "AsExpected", message: "" };
  return { type, status: "True", reason: "SyncError", message: boundMessage(formatErrors(errors, MESSAGE_MAX_BYTES)) };
}

function formatMessage({ blocked, errors, advice }: BlockingReasons, next: string): string {
  const head = `Found ClusterExtensions that require upgrades prior to upgrading cluster to version ${next}: `;
  const exact = blocked.length === 0 ? errors.join("\n") : withErrors(`${head}${blocked.join(",")}.`, errors.join("\n"));
  const room = MESSAGE_MAX_BYTES - Buffer.byteLength(exact) - 1;
  if (room > 0) {
    const lines = joinWithin(advice, "\n", room, (leftOut) => `and ${leftOut} more ClusterExtensions`);
    return Buffer.byteLength(lines) > room || lines === "" ? exact : `${exact}\n${lines}`;
  }
  if (blocked.length === 0) return formatErrors(errors, MESSAGE_MAX_BYTES);
  const errorText = formatErrors(errors, MESSAGE_MAX_BYTES / 2);
  const taken = Buffer.byteLength(withErrors(`${head}.`, errorText));
  return withErrors(`${head}${joinWithin(blocked, ",", MESSAGE_MAX_BYTES - taken, (leftOut) => `and ${leftOut} more`)}.`, errorText);
}

function withErrors(text: string, errors: string): string {
  return errors === "" ? text : `${text}${ADDITIONALLY}${errors}`;
}

function formatErrors(errors: readonly string[], bytes: number): string {
  return joinWithin(errors, "\n", bytes, (leftOut) => `and ${leftOut} more errors`);
}

function collectReasons(
  verdicts: readonly ReleaseVerdict[],
  cluster: ClusterVersion,
  remedies: ReadonlyMap<string, string>,
): BlockingReasons {
  const blocked = verdicts.flatMap((verdict) =>
    verdict.kind === "blocked" ? [`bundle ${quoteName(verdict.bundle)} for ClusterExtension ${goQuote(verdict.extension)}`] : [],
  );
  const errors = sortTexts(verdicts, (verdict) => findError(verdict, cluster));
  const advice = sortTexts(verdicts, (verdict) => findAdvice(verdict, cluster, remedies.get(verdict.extension)));
  return { blocked: [...new Set(blocked)].sort(compareUtf8), errors, advice };
}

/** Returns the texts of the verdicts without duplicates, sorted by extension and text. */
function sortTexts(verdicts: readonly ReleaseVerdict[], getText: (verdict: ReleaseVerdict) => string | undefined): string[] {
  const texts = verdicts
    .map((verdict) => ({ extension: verdict.extension, text: getText(verdict) ?? "" }))
    .filter(({ text }) => text !== "");
  texts.sort((a, b) => compareUtf8(a.extension, b.extension) || compareUtf8(a.text, b.text));
  return [...new Set(texts.map(({ text }) => text))];
}

/**
 * Returns the error of a verdict. A maximum that cannot be compared is an error, except on a cluster that is not
 * OpenShift, where no upgrade is blocked.
 */
function findError(verdict: ReleaseVerdict, cluster: ClusterVersion): string | undefined {
  if (verdict.kind === "error") return verdict.text;
  if (verdict.kind !== "undecided" || cluster.kind === "none") return undefined;
  const { extension, bundle, max, reason: because } = verdict;
  return `error with cluster extension ${extension}: error in bundle ${truncate(bundle, NAME_LENGTH)}: the bundle supports OpenShift up to ${formatMinorVersion(max)}, but the cluster version is unknown: ${truncate(because, CAUSE_LENGTH)}`;
}

function findAdvice(verdict: ReleaseVerdict, cluster: ClusterVersion, remedy: string | undefined): string | undefined {
  const { extension, bundle, version } = verdict;
  const subject = `ClusterExtension ${goQuote(extension)}: bundle ${quoteName(bundle)} version ${truncate(version, NAME_LENGTH)}`;
  if (verdict.kind === "blocked") {
    const step = remedy ?? `upgrade to a version that supports OpenShift ${formatNextMinor(cluster)}, or uninstall the ClusterExtension`;
    return `${subject} supports OpenShift up to ${formatMinorVersion(verdict.max)}; ${step}`;
  }
  // If the releases cannot be read, the maximum of the installed bundle may be valid.
  if (verdict.kind !== "error" || bundle === "") return undefined;
  const step = remedy ?? "upgrade to a version with a valid maximum such as 4.18, or uninstall the ClusterExtension";
  return `${subject} has a malformed maximum OpenShift version; ${step}`;
}

/** Quotes the name of a bundle, truncated because it comes from a catalog. */
function quoteName(name: string): string {
  return goQuote(truncate(name, NAME_LENGTH));
}

function formatNextMinor(cluster: ClusterVersion): string {
  return cluster.kind === "known" ? formatMinorVersion(getNextMinor(cluster.minor)) : "unknown";
}
