import { getErrorMessage } from "../errors/errors.ts";
import type { FbcBundle } from "../fbc/types.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { findGoJsonFault } from "../golang/jsonSyntax.ts";
import { goQuote } from "../golang/quote.ts";
import { truncate } from "../text/truncate.ts";
import { type ClusterVersion, formatMinorVersion, isBelow, type MinorVersion, parseMinorVersion } from "../version/clusterVersion.ts";
import type { RawProperty } from "./properties.ts";

/** Type of the property with the maximum OpenShift version, major and minor, that an operator supports. */
export const MAX_OPENSHIFT_VERSION = "olm.maxOpenShiftVersion";

/** The maximum OpenShift version of a bundle: not set, a version, or invalid. */
export type MaxVersion =
  | { readonly kind: "none" }
  | { readonly kind: "stated"; readonly max: MinorVersion }
  /** All errors, in the order of the properties. */
  | { readonly kind: "invalid"; readonly errors: readonly string[] };

/** Maximum length of a value. */
const MAX_VALUE_LENGTH = 256;
const NUMBER = /^[1-9][0-9]*\.(?:0|[1-9][0-9]*)$/;

/**
 * Reads the maximum from properties. Numbers keep their digits: 4.10 does not become 4.1.
 * @see https://github.com/openshift/cluster-olm-operator/blob/9983877d/internal/versionutils/version_utils.go ToAllowedSemver
 */
export function parseMaxVersion(properties: readonly RawProperty[]): MaxVersion {
  const [first, second] = properties.filter(({ type }) => type === MAX_OPENSHIFT_VERSION);
  if (first === undefined) return { kind: "none" };
  const errors: string[] = [];
  let max: MinorVersion | undefined;
  try {
    max = maxVersionFrom(first.value);
  } catch (err) {
    errors.push(`error converting to semver for version ${truncate(first.value, MAX_VALUE_LENGTH)}: ${getErrorMessage(err)}`);
  }
  if (second !== undefined) errors.push(`more than one ${MAX_OPENSHIFT_VERSION} found in bundle`);
  return max === undefined || errors.length > 0 ? { kind: "invalid", errors } : { kind: "stated", max };
}

/** Parses the value. @throws Error of upstream. */
function maxVersionFrom(token: string): MinorVersion {
  const fault = findGoJsonFault(token);
  if (fault !== undefined) throw new Error(fault);
  const value: unknown = JSON.parse(token);
  if (typeof value !== "string" && typeof value !== "number")
    throw new Error(`invalid type ${goType(value)} for olm.maxOpenshiftVersion: ${truncate(token, MAX_VALUE_LENGTH)}`);
  if (token.length > MAX_VALUE_LENGTH) throw new Error(`invalid version format: longer than ${MAX_VALUE_LENGTH} characters`);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Error(`json: cannot unmarshal number ${token} into Go value of type float64`);
    if (!NUMBER.test(token)) throw new Error(`invalid semver format ${goQuote(token)}: expected <major>.<minor>`);
    return parseMinorVersion(`${token}.0`);
  }
  if (value.startsWith("v") || value.split(".").length !== 2) throw new Error("invalid version format");
  return parseTolerant(value);
}

/**
 * Parses two numbers with a dot between them. Ignores surrounding spaces and leading zeros.
 * @see https://github.com/blang/semver/blob/v4.0.0/v4/semver.go ParseTolerant
 */
function parseTolerant(text: string): MinorVersion {
  const parts = text
    .replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "")
    .replace(/^v/, "")
    .split(".")
    .map(trimZeros);
  if (/[+-]/.test(parts.at(-1) ?? "")) throw new Error("Short version cannot contain PreRelease/Build meta data");
  return parseMinorVersion([...parts, "0"].join("."));
}

function trimZeros(part: string): string {
  if (Buffer.byteLength(part) <= 1) return part;
  const rest = part.replace(/^0+/, "");
  return /^[0-9]/.test(rest) ? rest : `0${rest}`;
}

/** Returns Go's name for the type of a JSON value. */
function goType(value: unknown): string {
  if (value === null) return "<nil>";
  if (typeof value === "boolean") return "bool";
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
}

/** A conflict between the maximum version of a bundle and the cluster. */
export type ClusterVersionConflict =
  /** The cluster has a higher version than the maximum. */
  | { readonly kind: "below"; readonly max: MinorVersion; readonly cluster: MinorVersion }
  /** The maximum is invalid. */
  | { readonly kind: "invalid"; readonly errors: readonly string[] }
  /** The version of the cluster is unknown, so the maximum cannot be compared. */
  | { readonly kind: "unknown"; readonly max: MinorVersion; readonly reason: string };

/** Maximum length of a reason in characters. Reasons can contain text from a catalog. */
const MAX_REASON = 300;

/** Reads the maximum of a bundle in a catalog. */
export function readMaxVersion({ properties }: FbcBundle): MaxVersion {
  const stated = properties.filter(({ type }) => type === MAX_OPENSHIFT_VERSION);
  return parseMaxVersion(stated.map(({ type, value }) => ({ type, value: value === undefined ? "" : encodeCanonicalJson(value) })));
}

/** Compares a maximum with the cluster. Returns undefined if there is no maximum, or if the cluster is not OpenShift. */
export function findClusterVersionConflict(max: MaxVersion, cluster: ClusterVersion): ClusterVersionConflict | undefined {
  if (max.kind === "none" || cluster.kind === "none") return undefined;
  if (max.kind === "invalid") return { kind: "invalid", errors: max.errors };
  if (cluster.kind === "unknown") return { kind: "unknown", max: max.max, reason: cluster.reason };
  return isBelow(max.max, cluster.minor) ? { kind: "below", max: max.max, cluster: cluster.minor } : undefined;
}

/** Formats a conflict, such as `its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18`, in at most a few hundred characters. */
export function formatClusterVersionConflict(conflict: ClusterVersionConflict): string {
  const its = `its ${MAX_OPENSHIFT_VERSION}`;
  if (conflict.kind === "invalid") return `${its} is invalid (${formatReason(conflict.errors.join(", "))})`;
  const max = formatMinorVersion(conflict.max);
  if (conflict.kind === "below") return `${its} ${max} is below the cluster's ${formatMinorVersion(conflict.cluster)}`;
  return `${its} ${max} cannot be compared, because the cluster's version is unknown (${formatReason(conflict.reason)})`;
}

/** Formats the warning about a bundle that may not work on the cluster. */
export function formatClusterVersionWarning(bundle: string, conflict: ClusterVersionConflict): string {
  return `bundle ${goQuote(bundle)} may not work on this cluster: ${formatClusterVersionConflict(conflict)}`;
}

function formatReason(text: string): string {
  return truncate(text.replaceAll("\n", ", "), MAX_REASON);
}
