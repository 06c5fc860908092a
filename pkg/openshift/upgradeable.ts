import { boundMessage } from "../api/conditions.ts";
import { MESSAGE_MAX_BYTES } from "../api/constants.ts";
import { type MaxVersion, maxVersionIn } from "../bundle/maxOpenShiftVersion.ts";
import { rawProperties } from "../bundle/properties.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { CAUSE_LENGTH, NAME_LENGTH, truncate } from "../text/truncate.ts";
import { allowsNext, type ClusterVersion, type MinorVersion, minorText, nextMinor } from "../version/clusterVersion.ts";
import type { NewOperatorCondition } from "./operatorConditions.ts";

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
export type ReleaseVerdict = { readonly extension: string; readonly bundle: string; readonly version: string } & (
  | { readonly kind: "unlimited" }
  | { readonly kind: "compatible" | "blocked"; readonly max: MinorVersion }
  /** A maximum is stated and the version of the cluster is not known, or there is no OpenShift cluster. */
  | { readonly kind: "undecided"; readonly max: MinorVersion; readonly because: string }
  /** `text` has a line for each thing that is wrong; it names extension and bundle, and is of bounded length. */
  | { readonly kind: "error"; readonly text: string }
);

/**
 * What `release` means for the upgrade of a cluster of that version. What cannot be read is an error, which blocks as well.
 * @see https://github.com/openshift/cluster-olm-operator/blob/9983877d/pkg/controller/incompatible_operator_controller.go checkIncompatibility
 */
export function verdictOn(release: ActiveRelease | UnreadableReleases, cluster: ClusterVersion): ReleaseVerdict {
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
  return annotation === undefined ? { kind: "none" } : maxVersionIn(rawProperties(annotation));
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

/**
 * As many of `items` as fit in `bytes` of UTF-8, from the first on, joined; where some are left out, `more` of their number ends the list and
 * counts too. An item that does not fit ends the list even when a later one would.
 */
function joinedWithin(items: readonly string[], separator: string, bytes: number, more: (leftOut: number) => string): string {
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

/** Operator condition that says whether the installed extensions let the cluster go to its next minor version. */
const EXTENSIONS_UPGRADEABLE = "InstalledOLMOperatorsUpgradeable";
/** Operator condition that says whether that could be told. */
const GATE_DEGRADED = "OLMIncompatibleOperatorControllerDegraded";

const ADDITIONALLY = "\n Additionally the following errors were encountered while getting extension metadata: ";

/** What stands in the way of the upgrade, in an order that does not depend on that of the verdicts. */
interface Obstacles {
  /** One text for each bundle, in order of bytes. */
  readonly blocked: readonly string[];
  /** One text for each thing that cannot be read, in order of the extensions' names. */
  readonly errors: readonly string[];
  /** What to do about each, in order of the extensions' names. */
  readonly advice: readonly string[];
}

/**
 * The condition `InstalledOLMOperatorsUpgradeable`. The message is that of upstream; what to do about each extension follows, a line each. Of
 * very many extensions the first are named and the rest are counted, so that it has at most 32768 bytes.
 * @param remedies by extension, a clause such as `version 1.1.0 of catalog "x" lifts the block`.
 * @see https://github.com/openshift/cluster-olm-operator/blob/9983877d/pkg/controller/incompatible_operator_controller.go sync
 */
export function upgradeableFrom(
  verdicts: readonly ReleaseVerdict[],
  cluster: ClusterVersion,
  remedies: ReadonlyMap<string, string> = new Map(),
): NewOperatorCondition {
  const { blocked, errors, advice } = obstaclesIn(verdicts, cluster, remedies);
  const type = EXTENSIONS_UPGRADEABLE;
  if (blocked.length === 0 && errors.length === 0) return { type, status: "True", reason: "", message: "" };
  const reason = blocked.length > 0 ? "IncompatibleOperatorsInstalled" : "FailureGettingExtensionMetadata";
  return { type, status: "False", reason, message: boundMessage(messageFrom({ blocked, errors, advice }, nextText(cluster))) };
}

/** The condition `OLMIncompatibleOperatorControllerDegraded`: True when the gate could not tell about some extension. */
export function gateDegradedFrom(verdicts: readonly ReleaseVerdict[], cluster: ClusterVersion): NewOperatorCondition {
  const { errors } = obstaclesIn(verdicts, cluster, new Map());
  const type = GATE_DEGRADED;
  if (errors.length === 0) return { type, status: "False", reason: "AsExpected", message: "" };
  return { type, status: "True", reason: "SyncError", message: boundMessage(errorLines(errors, MESSAGE_MAX_BYTES)) };
}

function messageFrom({ blocked, errors, advice }: Obstacles, next: string): string {
  const head = `Found ClusterExtensions that require upgrades prior to upgrading cluster to version ${next}: `;
  const exact = blocked.length === 0 ? errors.join("\n") : withErrors(`${head}${blocked.join(",")}.`, errors.join("\n"));
  const room = MESSAGE_MAX_BYTES - Buffer.byteLength(exact) - 1;
  if (room > 0) {
    const lines = joinedWithin(advice, "\n", room, (leftOut) => `and ${leftOut} more ClusterExtensions`);
    return Buffer.byteLength(lines) > room || lines === "" ? exact : `${exact}\n${lines}`;
  }
  if (blocked.length === 0) return errorLines(errors, MESSAGE_MAX_BYTES);
  const errorText = errorLines(errors, MESSAGE_MAX_BYTES / 2);
  const taken = Buffer.byteLength(withErrors(`${head}.`, errorText));
  return withErrors(`${head}${joinedWithin(blocked, ",", MESSAGE_MAX_BYTES - taken, (leftOut) => `and ${leftOut} more`)}.`, errorText);
}

function withErrors(text: string, errors: string): string {
  return errors === "" ? text : `${text}${ADDITIONALLY}${errors}`;
}

function errorLines(errors: readonly string[], bytes: number): string {
  return joinedWithin(errors, "\n", bytes, (leftOut) => `and ${leftOut} more errors`);
}

function obstaclesIn(verdicts: readonly ReleaseVerdict[], cluster: ClusterVersion, remedies: ReadonlyMap<string, string>): Obstacles {
  const blocked = verdicts.flatMap((verdict) =>
    verdict.kind === "blocked" ? [`bundle ${quoted(verdict.bundle)} for ClusterExtension ${goQuote(verdict.extension)}`] : [],
  );
  const errors = ordered(verdicts, (verdict) => errorOf(verdict, cluster));
  const advice = ordered(verdicts, (verdict) => adviceOn(verdict, cluster, remedies.get(verdict.extension)));
  return { blocked: [...new Set(blocked)].sort(compareBytes), errors, advice };
}

/** What `textOf` says of each verdict, once, in order of extension and then of the text. */
function ordered(verdicts: readonly ReleaseVerdict[], textOf: (verdict: ReleaseVerdict) => string | undefined): string[] {
  const said = verdicts.map((verdict) => ({ extension: verdict.extension, text: textOf(verdict) ?? "" })).filter(({ text }) => text !== "");
  said.sort((a, b) => compareBytes(a.extension, b.extension) || compareBytes(a.text, b.text));
  return [...new Set(said.map(({ text }) => text))];
}

/** A maximum that cannot be compared is as bad as one that cannot be read; without an OpenShift cluster there is nothing to gate. */
function errorOf(verdict: ReleaseVerdict, cluster: ClusterVersion): string | undefined {
  if (verdict.kind === "error") return verdict.text;
  if (verdict.kind !== "undecided" || cluster.kind === "none") return undefined;
  const { extension, bundle, max, because } = verdict;
  return `error with cluster extension ${extension}: error in bundle ${truncate(bundle, NAME_LENGTH)}: it supports OpenShift up to ${minorText(max)} and the version of this cluster is not known: ${truncate(because, CAUSE_LENGTH)}`;
}

function adviceOn(verdict: ReleaseVerdict, cluster: ClusterVersion, remedy: string | undefined): string | undefined {
  const { extension, bundle, version } = verdict;
  const what = `ClusterExtension ${goQuote(extension)}: bundle ${quoted(bundle)} version ${truncate(version, NAME_LENGTH)}`;
  if (verdict.kind === "blocked") {
    const instead = remedy ?? `upgrade it to a version that supports ${nextText(cluster)}, or uninstall it`;
    return `${what} supports OpenShift up to ${minorText(verdict.max)}; ${instead}`;
  }
  // Where the releases cannot be read, nothing is known to be wrong with what is installed.
  if (verdict.kind !== "error" || bundle === "") return undefined;
  const instead = remedy ?? "upgrade it to a version that states one such as 4.18, or uninstall it";
  return `${what} states a maximum OpenShift version that cannot be read; ${instead}`;
}

/** A bundle's name, which is content of a catalog. */
function quoted(name: string): string {
  return goQuote(truncate(name, NAME_LENGTH));
}

function nextText(cluster: ClusterVersion): string {
  return cluster.kind === "known" ? minorText(nextMinor(cluster.minor)) : "unknown";
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
