import { type OperatorConditionObject, type ReportedCondition, UPGRADEABLE } from "../api/operatorCondition.ts";
import { goQuote } from "../golang/quote.ts";
import { toOneLine } from "../text/escape.ts";
import { truncate } from "../text/truncate.ts";

const MAX_REASON = 128;
const MAX_MESSAGE = 512;
const STATUSES: readonly unknown[] = ["True", "False", "Unknown"];

/** What an OperatorCondition reports about upgrades. Its texts are bounded, and have no control characters. */
export interface UpgradeableReport {
  /** Who reports it: the operator, or an administrator who overrides the operator. */
  readonly by: "operator" | "override";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/**
 * Reads the condition Upgradeable that counts, in this order:
 *
 * | condition in        | written by                         | counts                                                |
 * | `spec.overrides`    | an administrator                   | always                                                |
 * | `spec.conditions`   | the operator, in v2                | always: it changes the generation itself               |
 * | `status.conditions` | the operator in v1; OLM v0 in v2    | if its observedGeneration is that of the object       |
 *
 * OLM v0 copies `spec.conditions` to the status, and holds an upgrade while that copy is outdated; reading the original needs no copy.
 * @param object untrusted: its operator and other clients write it
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/operators/olm/operatorconditions.go
 */
export function readUpgradeable({ metadata, spec, status }: OperatorConditionObject): UpgradeableReport | undefined {
  const { generation = 0 } = metadata;
  const current = listConditions(status?.conditions).filter(({ observedGeneration }) => observedGeneration === generation);
  return (
    toReport(listConditions(spec?.overrides), "override") ??
    toReport(listConditions(spec?.conditions), "operator") ??
    toReport(current, "operator")
  );
}

/** Reports whether a report holds upgrades. As in OLM v0, an override with status Unknown holds them, and a condition with that status does not. */
export function isVeto({ by, status }: UpgradeableReport): boolean {
  return status === "False" || (by === "override" && status === "Unknown");
}

/** Formats who sets the condition Upgradeable of an OperatorCondition, and why. */
export function formatUpgradeable(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { by, reason, message }: UpgradeableReport,
): string {
  const who = by === "override" ? "an administrator overrides" : "the installed operator sets";
  const why = [reason, message].filter((text) => text !== "");
  return [`${who} condition Upgradeable in OperatorCondition ${goQuote(`${namespace}/${name}`)}`, ...why].join(": ");
}

function listConditions(value: unknown): ReportedCondition[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one): one is ReportedCondition => typeof one === "object" && one !== null);
}

function toReport(conditions: readonly ReportedCondition[], by: UpgradeableReport["by"]): UpgradeableReport | undefined {
  const found = conditions.find(({ type, status }) => type === UPGRADEABLE && STATUSES.includes(status));
  if (!found) return undefined;
  const status = found.status as UpgradeableReport["status"];
  return { by, status, reason: bound(found.reason, MAX_REASON), message: bound(found.message, MAX_MESSAGE) };
}

function bound(text: unknown, max: number): string {
  return typeof text === "string" ? truncate(toOneLine(text.slice(0, 4 * max)), max) : "";
}
