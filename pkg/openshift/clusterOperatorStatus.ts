import { isDeepStrictEqual } from "node:util";
import { encodeCanonicalJson } from "../golang/json.ts";
import { goQuote } from "../golang/quote.ts";
import { formatTime } from "../golang/time.ts";
import {
  addTransitionTimes,
  computeMsUntilDegraded,
  type FoldedCondition,
  foldConditions,
  listFoldedTypes,
  type NewOperatorCondition,
  type OperatorCondition,
  ROLLOUT_LIMIT_MS,
  readKeptConditions,
  readMembers,
  readObjects,
  readText,
} from "./operatorConditions.ts";
import type { ObjectReference } from "./relatedObjects.ts";

/**
 * Describes the differences between two ClusterOperator statuses, one clause for each. Mentions `status.extension`, which contains the operator
 * conditions, only if nothing else has changed.
 * @see https://github.com/openshift/library-go/blob/483f89d04ca9f7a175b2b348b717b44190e89bed/pkg/config/clusteroperator/v1helpers/status.go
 * GetStatusDiff
 */
function describeDifference(before: unknown, after: unknown): string {
  const [old, next] = [readMembers(before), readMembers(after)];
  const previous = readObjects(old["conditions"]);
  const clauses = readObjects(next["conditions"]).flatMap((condition) => {
    const clause = describeChange(
      condition,
      previous.find(({ type }) => type === condition["type"]),
    );
    return clause === undefined ? [] : [clause];
  });
  for (const member of ["relatedObjects", "versions"]) {
    if (isDeepStrictEqual(old[member], next[member])) continue;
    clauses.push(
      `status.${member} changed from ${encodeCanonicalJson(old[member] ?? null)} to ${encodeCanonicalJson(next[member] ?? null)}`,
    );
  }
  return clauses.length === 0 ? "status.extension changed" : clauses.join(",");
}

function describeChange(
  condition: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>> | undefined,
): string | undefined {
  const of = (object: typeof condition, member: string): string => readText(object[member]);
  const type = of(condition, "type");
  const status = of(condition, "status");
  const message = goQuote(of(condition, "message"));
  if (before === undefined) return `${type} set to ${status} (${message})`;
  if (before["status"] !== status) return `${type} changed from ${of(before, "status")} to ${status} (${message})`;
  if (before["message"] !== condition["message"]) return `${type} message changed from ${goQuote(of(before, "message"))} to ${message}`;
  if (before["reason"] === condition["reason"]) return undefined;
  return `${type} reason changed from ${goQuote(of(before, "reason"))} to ${goQuote(of(condition, "reason"))}`;
}

/** Inputs for computing the ClusterOperator status. */
export interface OperatorInputs {
  /** One condition of each type, without transition times: the status already contains these. */
  readonly conditions: readonly NewOperatorCondition[];
  /** Whether the operator is unmanaged. If so, all conditions are Unknown. */
  readonly unmanaged?: boolean;
  /** The running version, for `versions`; undefined keeps the version in the status. */
  readonly operatorVersion: string | undefined;
  /** The target release of the cluster; undefined or empty if unknown. */
  readonly releaseVersion?: string | undefined;
  readonly relatedObjects: readonly ObjectReference[];
}

/** The status to write, and the differences from the previous status. */
export interface OperatorStatus {
  /** The complete status. Includes unknown members of the previous status. */
  readonly status: Readonly<Record<string, unknown>>;
  /** The changes for Event `OperatorStatusChanged`; undefined if there is nothing to write. */
  readonly changed: string | undefined;
  /** The version change for Event `OperatorVersionChanged`; `from` is empty if there was no version. Undefined without a change. */
  readonly versionChanged: { readonly from: string; readonly to: string } | undefined;
  /** Delay in milliseconds after which the same inputs can result in a different status; undefined if the result cannot change. */
  readonly nextCheckAfterMs: number | undefined;
}

/** Delay before the next update after an overridden condition Progressing, because the override applies to one update only. */
const AFTER_OVERRIDE_MS = 1_000;
const OPERATOR = "operator";

/**
 * Returns the status of ClusterOperator `olm`: the five folded conditions, versions, related objects, and the operator conditions with their
 * transition times in `extension.conditions`, which preserves the times across a restart. Ignores malformed parts of `before`, which any client can
 * write. While unmanaged, keeps versions and related objects; otherwise the operator would look like a first installation when it is managed again.
 * @see https://github.com/openshift/library-go/blob/093326148e204e61bd7ee5834bd9726ef3c30439/pkg/operator/status/status_controller.go Sync
 */
export function buildClusterOperatorStatus(before: unknown, inputs: OperatorInputs, now: Date): OperatorStatus {
  const old = readMembers(before);
  const kept = addTransitionTimes(inputs.conditions, readKeptConditions(before, now), now);
  const upgrading = !inputs.unmanaged && isUpgrading(old["versions"], inputs.releaseVersion);
  const status = {
    ...old,
    conditions: updateConditions(old["conditions"], foldAll(inputs, kept, upgrading, now), now),
    ...(inputs.unmanaged
      ? {}
      : { versions: updateVersions(old["versions"], inputs.operatorVersion), relatedObjects: inputs.relatedObjects }),
    extension: { ...readMembers(old["extension"]), conditions: kept },
  };
  const [from, to] = [findOperatorVersion(old["versions"]), findOperatorVersion(readMembers(status)["versions"])];
  return {
    status,
    changed: isDeepStrictEqual(old, status) ? undefined : describeDifference(old, status),
    versionChanged: to === undefined || from === to ? undefined : { from: from ?? "", to },
    nextCheckAfterMs: computeNextCheck(kept, upgrading, now),
  };
}

function foldAll(inputs: OperatorInputs, kept: readonly OperatorCondition[], upgrading: boolean, now: Date): FoldedCondition[] {
  if (inputs.unmanaged) return listFoldedTypes().map((type) => ({ type, status: "Unknown", reason: "Unmanaged", message: "" }));
  return foldConditions(kept, now).map((condition) => {
    if (!upgrading || condition.type !== "Progressing") return condition;
    const message = `Progressing towards operator version ${inputs.releaseVersion}`;
    return { type: "Progressing", status: "True", reason: "UpgradeInProgress", message };
  });
}

/** Reports whether the status was written by a different release: true for the first update after an upgrade, false for a first installation. */
function isUpgrading(versions: unknown, release: string | undefined): boolean {
  const known = readObjects(versions);
  return !!release && known.length > 0 && !known.some(({ name, version }) => name === OPERATOR && version === release);
}

/** Adds transition times to `folded`, in the order of the conditions in `before`. Keeps the conditions of other controllers. */
function updateConditions(before: unknown, folded: readonly FoldedCondition[], now: Date): Readonly<Record<string, unknown>>[] {
  const conditions = readObjects(before).filter(({ type }, i, all) => all.findIndex((other) => other["type"] === type) === i);
  for (const condition of folded) {
    const at = conditions.findIndex(({ type }) => type === condition.type);
    const old = conditions[at];
    const same = old?.["status"] === condition.status && typeof old["lastTransitionTime"] === "string";
    const next = { ...condition, lastTransitionTime: same ? old["lastTransitionTime"] : formatTime(now) };
    if (at < 0) conditions.push(next);
    else conditions[at] = next;
  }
  return conditions;
}

function updateVersions(before: unknown, version: string | undefined): Readonly<Record<string, unknown>>[] {
  const known = readObjects(before);
  if (version === undefined) return known;
  return [{ name: OPERATOR, version }, ...known.filter(({ name }) => name !== OPERATOR)];
}

function findOperatorVersion(versions: unknown): string | undefined {
  const version = readObjects(versions).find(({ name }) => name === OPERATOR)?.["version"];
  return typeof version === "string" ? version : undefined;
}

function computeNextCheck(kept: readonly OperatorCondition[], upgrading: boolean, now: Date): number | undefined {
  const rollouts = kept
    .filter(({ type, status }) => type.endsWith("Progressing") && status === "True")
    .map(({ lastTransitionTime }) => Date.parse(lastTransitionTime) + ROLLOUT_LIMIT_MS + 1 - now.getTime())
    .filter((left) => left > 0);
  const waits = [...rollouts, computeMsUntilDegraded(kept, now) ?? Infinity, upgrading ? AFTER_OVERRIDE_MS : Infinity];
  const first = Math.min(...waits);
  return Number.isFinite(first) ? first : undefined;
}
