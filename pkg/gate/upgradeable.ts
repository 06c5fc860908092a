import { boundedMessage } from "../api/conditions.ts";
import { MESSAGE_MAX_BYTES } from "../api/constants.ts";
import { CAUSE_LENGTH, truncate, NAME_LENGTH } from "../text/truncate.ts";
import { goQuote } from "../golang/quote.ts";
import type { ClusterVersion } from "./clusterVersion.ts";
import { joinedWithin } from "./joinedWithin.ts";
import { minorText, nextMinor } from "./minorVersion.ts";
import type { NewOperatorCondition } from "./operatorCondition.ts";
import type { Verdict } from "./verdict.ts";

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
 * @see https://github.com/openshift/cluster-olm-operator/blob/main/pkg/controller/incompatible_operator_controller.go sync
 */
export function upgradeableFrom(
  verdicts: readonly Verdict[],
  cluster: ClusterVersion,
  remedies: ReadonlyMap<string, string> = new Map(),
): NewOperatorCondition {
  const { blocked, errors, advice } = obstaclesIn(verdicts, cluster, remedies);
  const type = EXTENSIONS_UPGRADEABLE;
  if (blocked.length === 0 && errors.length === 0) return { type, status: "True", reason: "", message: "" };
  const reason = blocked.length > 0 ? "IncompatibleOperatorsInstalled" : "FailureGettingExtensionMetadata";
  return { type, status: "False", reason, message: boundedMessage(messageFrom({ blocked, errors, advice }, nextText(cluster))) };
}

/** The condition `OLMIncompatibleOperatorControllerDegraded`: True when the gate could not tell about some extension. */
export function gateDegradedFrom(verdicts: readonly Verdict[], cluster: ClusterVersion): NewOperatorCondition {
  const { errors } = obstaclesIn(verdicts, cluster, new Map());
  const type = GATE_DEGRADED;
  if (errors.length === 0) return { type, status: "False", reason: "AsExpected", message: "" };
  return { type, status: "True", reason: "SyncError", message: boundedMessage(errorLines(errors, MESSAGE_MAX_BYTES)) };
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

function obstaclesIn(verdicts: readonly Verdict[], cluster: ClusterVersion, remedies: ReadonlyMap<string, string>): Obstacles {
  const blocked = verdicts.flatMap((verdict) =>
    verdict.kind === "blocked" ? [`bundle ${quoted(verdict.bundle)} for ClusterExtension ${goQuote(verdict.extension)}`] : [],
  );
  const errors = ordered(verdicts, (verdict) => errorOf(verdict, cluster));
  const advice = ordered(verdicts, (verdict) => adviceOn(verdict, cluster, remedies.get(verdict.extension)));
  return { blocked: [...new Set(blocked)].sort(compareBytes), errors, advice };
}

/** What `textOf` says of each verdict, once, in order of extension and then of the text. */
function ordered(verdicts: readonly Verdict[], textOf: (verdict: Verdict) => string | undefined): string[] {
  const said = verdicts.map((verdict) => ({ extension: verdict.extension, text: textOf(verdict) ?? "" })).filter(({ text }) => text !== "");
  said.sort((a, b) => compareBytes(a.extension, b.extension) || compareBytes(a.text, b.text));
  return [...new Set(said.map(({ text }) => text))];
}

/** A maximum that cannot be compared is as bad as one that cannot be read; without an OpenShift cluster there is nothing to gate. */
function errorOf(verdict: Verdict, cluster: ClusterVersion): string | undefined {
  if (verdict.kind === "error") return verdict.text;
  if (verdict.kind !== "undecided" || cluster.kind === "none") return undefined;
  const { extension, bundle, max, because } = verdict;
  return `error with cluster extension ${extension}: error in bundle ${truncate(bundle, NAME_LENGTH)}: it supports OpenShift up to ${minorText(max)} and the version of this cluster is not known: ${truncate(because, CAUSE_LENGTH)}`;
}

function adviceOn(verdict: Verdict, cluster: ClusterVersion, remedy: string | undefined): string | undefined {
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
