import { messageOf } from "../errors/errors.ts";
import type { FbcBundle } from "../fbc/types.ts";
import { canonicalJson } from "../golang/json.ts";
import { goJsonFault } from "../golang/jsonSyntax.ts";
import { goQuote } from "../golang/quote.ts";
import { truncate } from "../text/truncate.ts";
import { type ClusterVersion, isBelow, type MinorVersion, minorOf, minorText } from "../version/clusterVersion.ts";
import type { RawProperty } from "./properties.ts";

/** Type of the property that states up to which OpenShift version, major and minor, an operator works. */
export const MAX_OPENSHIFT_VERSION = "olm.maxOpenShiftVersion";

/** What a bundle says about the OpenShift versions it works on: nothing, the last one, or something that cannot be read. */
export type MaxVersion =
  | { readonly kind: "none" }
  | { readonly kind: "stated"; readonly max: MinorVersion }
  /** One text for each thing that is wrong, in the order of the properties. */
  | { readonly kind: "invalid"; readonly errors: readonly string[] };

/** No version is written longer; what is longer is not looked into. */
const MAX_VALUE_LENGTH = 256;
const NUMBER = /^[1-9][0-9]*\.(?:0|[1-9][0-9]*)$/;

/**
 * The maximum that the properties state. The value is judged as it is written: the number 4.10 is 4.10.
 * @see https://github.com/openshift/cluster-olm-operator/blob/9983877d/internal/versionutils/version_utils.go ToAllowedSemver
 */
export function maxVersionIn(properties: readonly RawProperty[]): MaxVersion {
  const [first, second] = properties.filter(({ type }) => type === MAX_OPENSHIFT_VERSION);
  if (first === undefined) return { kind: "none" };
  const errors: string[] = [];
  let max: MinorVersion | undefined;
  try {
    max = maxVersionFrom(first.value);
  } catch (err) {
    errors.push(`error converting to semver for version ${truncate(first.value, MAX_VALUE_LENGTH)}: ${messageOf(err)}`);
  }
  if (second !== undefined) errors.push(`more than one ${MAX_OPENSHIFT_VERSION} found in bundle`);
  return max === undefined || errors.length > 0 ? { kind: "invalid", errors } : { kind: "stated", max };
}

/** @throws Error in upstream's words. */
function maxVersionFrom(token: string): MinorVersion {
  const fault = goJsonFault(token);
  if (fault !== undefined) throw new Error(fault);
  const value: unknown = JSON.parse(token);
  if (typeof value !== "string" && typeof value !== "number")
    throw new Error(`invalid type ${goType(value)} for olm.maxOpenshiftVersion: ${truncate(token, MAX_VALUE_LENGTH)}`);
  if (token.length > MAX_VALUE_LENGTH) throw new Error(`invalid version format: longer than ${MAX_VALUE_LENGTH} characters`);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Error(`json: cannot unmarshal number ${token} into Go value of type float64`);
    if (!NUMBER.test(token)) throw new Error(`invalid semver format ${goQuote(token)}: expected <major>.<minor>`);
    return minorOf(`${token}.0`);
  }
  if (value.startsWith("v") || value.split(".").length !== 2) throw new Error("invalid version format");
  return tolerant(value);
}

/**
 * Two numbers with a dot between them, spaces around and zeros before them left out.
 * @see https://github.com/blang/semver/blob/v4.0.0/v4/semver.go ParseTolerant
 */
function tolerant(text: string): MinorVersion {
  const parts = text
    .replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "")
    .replace(/^v/, "")
    .split(".")
    .map(withoutZeros);
  if (/[+-]/.test(parts.at(-1) ?? "")) throw new Error("Short version cannot contain PreRelease/Build meta data");
  return minorOf([...parts, "0"].join("."));
}

function withoutZeros(part: string): string {
  if (Buffer.byteLength(part) <= 1) return part;
  const rest = part.replace(/^0+/, "");
  return /^[0-9]/.test(rest) ? rest : `0${rest}`;
}

/** Go's name for the type that a JSON value is read as. */
function goType(value: unknown): string {
  if (value === null) return "<nil>";
  if (typeof value === "boolean") return "bool";
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
}

/** What speaks against a bundle on a cluster, by the maximum that it states. */
export type ClusterVersionConflict =
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
export function findClusterVersionConflict(max: MaxVersion, cluster: ClusterVersion): ClusterVersionConflict | undefined {
  if (max.kind === "none" || cluster.kind === "none") return undefined;
  if (max.kind === "invalid") return { kind: "invalid", errors: max.errors };
  if (cluster.kind === "unknown") return { kind: "unknown", max: max.max, because: cluster.because };
  return isBelow(max.max, cluster.minor) ? { kind: "below", max: max.max, cluster: cluster.minor } : undefined;
}

/** Such as `its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18`; at most some hundred characters. */
export function formatClusterVersionConflict(objection: ClusterVersionConflict): string {
  const its = `its ${MAX_OPENSHIFT_VERSION}`;
  if (objection.kind === "invalid") return `${its} cannot be read (${reason(objection.errors.join(", "))})`;
  const max = minorText(objection.max);
  if (objection.kind === "below") return `${its} ${max} is below the cluster's ${minorText(objection.cluster)}`;
  return `${its} ${max} cannot be compared, since the cluster's version is not known (${reason(objection.because)})`;
}

/** One sentence that warns of a bundle which may not work on the cluster. */
export function formatClusterVersionWarning(bundle: string, objection: ClusterVersionConflict): string {
  return `bundle ${goQuote(bundle)} may not work on this cluster: ${formatClusterVersionConflict(objection)}`;
}

function reason(text: string): string {
  return truncate(text.replaceAll("\n", ", "), MAX_REASON);
}
