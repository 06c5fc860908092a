import { boundMessage } from "../api/conditions.ts";
import { goQuote } from "../golang/quote.ts";
import { formatUpgradeable, type UpgradeableReport } from "../release/upgradeVeto.ts";
import { compareText } from "../text/compare.ts";
import { formatList } from "../text/lists.ts";
import { CAUSE_LENGTH, truncate } from "../text/truncate.ts";
import type { NewOperatorCondition } from "./operatorConditions.ts";

/** An OperatorCondition that does not allow an upgrade of its operator. */
export interface OperatorVeto {
  /** Name of the ClusterExtension; absent if OLM v0 created the OperatorCondition. */
  readonly extension?: string;
  readonly namespace: string;
  readonly name: string;
  readonly report: UpgradeableReport;
}

const VETOES_SHOWN = 20;

/**
 * Returns the condition `OperatorConditionsUpgradeable`: whether all installed operators allow an upgrade. False if that cannot be read, because the
 * cluster-version operator allows upgrades while the status is Unknown.
 * @param unknownReason why the vetoes cannot be read
 * @see
 * https://github.com/openshift/cluster-version-operator/blob/02e9c5043f22c9594f9468c43c383db35f319645/pkg/cvo/upgradeable.go
 * clusterOperatorsUpgradeable
 */
export function buildVetoCondition(vetoes: readonly OperatorVeto[], unknownReason?: string): NewOperatorCondition {
  const type = "OperatorConditionsUpgradeable";
  if (vetoes.length === 0 && unknownReason !== undefined) {
    const message = `cannot read whether the installed operators allow an upgrade: ${truncate(unknownReason, CAUSE_LENGTH)}`;
    return { type, status: "False", reason: "OperatorConditionsUnknown", message };
  }
  if (vetoes.length === 0) return { type, status: "True", reason: "AsExpected", message: "" };
  const lines = vetoes.map(formatVeto).sort(compareText);
  const message = formatList(lines, { max: VETOES_SHOWN, separator: "\n", rest: (more) => `and ${more} more OperatorConditions` });
  return { type, status: "False", reason: "OperatorsNotUpgradeable", message: boundMessage(message) };
}

function formatVeto({ extension, report, ...ref }: OperatorVeto): string {
  const subject = extension === undefined ? "" : `ClusterExtension ${goQuote(extension)}: `;
  return `${subject}${formatUpgradeable(ref, report)}`;
}
