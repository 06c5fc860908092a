import { isDeepStrictEqual } from "node:util";
import { canonicalJson } from "../golang/json.ts";
import { goQuote } from "../golang/quote.ts";
import { formatTime } from "../golang/time.ts";
import {
  type FoldedCondition,
  foldConditions,
  foldedTypes,
  keptConditions,
  listOf,
  membersOf,
  type NewOperatorCondition,
  type OperatorCondition,
  ROLLOUT_LIMIT_MS,
  textOf,
  untilDegraded,
  withTimes,
} from "./operatorConditions.ts";
import type { ObjectReference } from "./relatedObjects.ts";

/**
 * What is another in the status `after` than in `before`, both of a ClusterOperator, clause by clause; the kept operator conditions are
 * mentioned only where nothing else has changed.
 * @see https://github.com/openshift/library-go/blob/483f89d04ca9f7a175b2b348b717b44190e89bed/pkg/config/clusteroperator/v1helpers/status.go GetStatusDiff
 */
function statusDifference(before: unknown, after: unknown): string {
  const [old, next] = [membersOf(before), membersOf(after)];
  const was = listOf(old["conditions"]);
  const clauses = listOf(next["conditions"]).flatMap((condition) => {
    const clause = clauseOn(
      condition,
      was.find(({ type }) => type === condition["type"]),
    );
    return clause === undefined ? [] : [clause];
  });
  for (const member of ["relatedObjects", "versions"]) {
    if (isDeepStrictEqual(old[member], next[member])) continue;
    clauses.push(`status.${member} changed from ${canonicalJson(old[member] ?? null)} to ${canonicalJson(next[member] ?? null)}`);
  }
  return clauses.length === 0 ? "status.extension changed" : clauses.join(",");
}

function clauseOn(condition: Readonly<Record<string, unknown>>, was: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const of = (object: typeof condition, member: string): string => textOf(object[member]);
  const type = of(condition, "type");
  const status = of(condition, "status");
  const message = goQuote(of(condition, "message"));
  if (was === undefined) return `${type} set to ${status} (${message})`;
  if (was["status"] !== status) return `${type} changed from ${of(was, "status")} to ${status} (${message})`;
  if (was["message"] !== condition["message"]) return `${type} message changed from ${goQuote(of(was, "message"))} to ${message}`;
  if (was["reason"] === condition["reason"]) return undefined;
  return `${type} reason changed from ${goQuote(of(was, "reason"))} to ${goQuote(of(condition, "reason"))}`;
}

/** What the status of the ClusterOperator is made from. */
export interface OperatorInputs {
  /** One of each type, without times: those are kept in the status itself. */
  readonly conditions: readonly NewOperatorCondition[];
  /** Nobody wants the operator to be looked after: every condition is Unknown. */
  readonly unmanaged?: boolean;
  /** The version that runs, for `versions`; undefined leaves them as they are. */
  readonly operatorVersion: string | undefined;
  /** The release that the cluster is brought to; undefined or empty where that is not told. */
  readonly releaseVersion?: string | undefined;
  readonly relatedObjects: readonly ObjectReference[];
}

/** The status to write, and what about it is news. */
export interface OperatorStatus {
  /** The whole status; members of before that are unknown here are kept. */
  readonly status: Readonly<Record<string, unknown>>;
  /** What is another than before, for event `OperatorStatusChanged`; undefined when there is nothing to write. */
  readonly changed: string | undefined;
  /** For event `OperatorVersionChanged`; `from` is empty when there was none. */
  readonly versionChanged: { readonly from: string; readonly to: string } | undefined;
  /** After so many milliseconds the same inputs can give another status; undefined when they never do. */
  readonly nextCheckAfterMs: number | undefined;
}

/** The override holds for one update, so the next one must not be long in coming. */
const AFTER_OVERRIDE_MS = 1_000;
const OPERATOR = "operator";

/**
 * The status of ClusterOperator `olm`: the five folded conditions, versions, related objects, and in `extension.conditions` the operator
 * conditions with their times, so that a restart forgets none. Of `before`, which anybody may have written, what is unreadable is ignored.
 * While unmanaged, versions and related objects stay, so that managing it again is not taken for a first installation.
 * @see https://github.com/openshift/library-go/blob/093326148e204e61bd7ee5834bd9726ef3c30439/pkg/operator/status/status_controller.go Sync
 */
export function clusterOperatorStatus(before: unknown, inputs: OperatorInputs, now: Date): OperatorStatus {
  const old = membersOf(before);
  const kept = withTimes(inputs.conditions, keptConditions(before, now), now);
  const upgrading = !inputs.unmanaged && isUpgrading(old["versions"], inputs.releaseVersion);
  const status = {
    ...old,
    conditions: conditionsFrom(old["conditions"], foldedFor(inputs, kept, upgrading, now), now),
    ...(inputs.unmanaged ? {} : { versions: versionsFrom(old["versions"], inputs.operatorVersion), relatedObjects: inputs.relatedObjects }),
    extension: { ...membersOf(old["extension"]), conditions: kept },
  };
  const [from, to] = [operatorVersionIn(old["versions"]), operatorVersionIn(membersOf(status)["versions"])];
  return {
    status,
    changed: isDeepStrictEqual(old, status) ? undefined : statusDifference(old, status),
    versionChanged: to === undefined || from === to ? undefined : { from: from ?? "", to },
    nextCheckAfterMs: nextCheck(kept, upgrading, now),
  };
}

function foldedFor(inputs: OperatorInputs, kept: readonly OperatorCondition[], upgrading: boolean, now: Date): FoldedCondition[] {
  if (inputs.unmanaged) return foldedTypes().map((type) => ({ type, status: "Unknown", reason: "Unmanaged", message: "" }));
  return foldConditions(kept, now).map((condition) => {
    if (!upgrading || condition.type !== "Progressing") return condition;
    const message = `Progressing towards operator version ${inputs.releaseVersion}`;
    return { type: "Progressing", status: "True", reason: "UpgradeInProgress", message };
  });
}

/** Whether the status is still that of another release: true for the first update after an upgrade, false for a first installation. */
function isUpgrading(versions: unknown, release: string | undefined): boolean {
  const known = listOf(versions);
  return !!release && known.length > 0 && !known.some(({ name, version }) => name === OPERATOR && version === release);
}

/** `folded` with times, in the places of those before; foreign conditions are kept. */
function conditionsFrom(before: unknown, folded: readonly FoldedCondition[], now: Date): Readonly<Record<string, unknown>>[] {
  const conditions = listOf(before).filter(({ type }, i, all) => all.findIndex((other) => other["type"] === type) === i);
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

function versionsFrom(before: unknown, version: string | undefined): Readonly<Record<string, unknown>>[] {
  const known = listOf(before);
  if (version === undefined) return known;
  return [{ name: OPERATOR, version }, ...known.filter(({ name }) => name !== OPERATOR)];
}

function operatorVersionIn(versions: unknown): string | undefined {
  const version = listOf(versions).find(({ name }) => name === OPERATOR)?.["version"];
  return typeof version === "string" ? version : undefined;
}

function nextCheck(kept: readonly OperatorCondition[], upgrading: boolean, now: Date): number | undefined {
  const rollouts = kept
    .filter(({ type, status }) => type.endsWith("Progressing") && status === "True")
    .map(({ lastTransitionTime }) => Date.parse(lastTransitionTime) + ROLLOUT_LIMIT_MS + 1 - now.getTime())
    .filter((left) => left > 0);
  const waits = [...rollouts, untilDegraded(kept, now) ?? Infinity, upgrading ? AFTER_OVERRIDE_MS : Infinity];
  const first = Math.min(...waits);
  return Number.isFinite(first) ? first : undefined;
}
