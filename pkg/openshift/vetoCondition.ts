import { boundMessage } from "../api/conditions.ts";
import { goQuote } from "../golang/quote.ts";
import { formatUpgradeable, type UpgradeableReport } from "../release/upgradeVeto.ts";
import { compareText } from "../text/compare.ts";
import { formatList } from "../text/lists.ts";
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

/** Returns the condition `OperatorConditionsUpgradeable`: whether all installed operators allow an upgrade. */
export function buildVetoCondition(vetoes: readonly OperatorVeto[]): NewOperatorCondition {
  const type = "OperatorConditionsUpgradeable";
  if (vetoes.length === 0) return { type, status: "True", reason: "AsExpected", message: "" };
  const lines = vetoes.map(formatVeto).sort(compareText);
  const message = formatList(lines, { max: VETOES_SHOWN, separator: "\n", rest: (more) => `and ${more} more OperatorConditions` });
  return { type, status: "False", reason: "OperatorsNotUpgradeable", message: boundMessage(message) };
}

function formatVeto({ extension, report, ...ref }: OperatorVeto): string {
  const subject = extension === undefined ? "" : `ClusterExtension ${goQuote(extension)}: `;
  return `${subject}${formatUpgradeable(ref, report)}`;
}
